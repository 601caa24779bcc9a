# An objects, strings, garbage collection, threads and fork workload; prints digests of what it computed.
require 'digest'
require 'json'
require 'set'

SCALE = Integer(ARGV.fetch(0, '1'))
RANDOM = Random.new(12345)

def say_digest(what, values)
  puts "#{what} #{Digest::MD5.hexdigest(values.join("\n"))} #{values.size}"
end

def random_word
  Array.new(1 + RANDOM.rand(12)) { (97 + RANDOM.rand(26)).chr }.join
end

Node = Struct.new(:key, :value, :left, :right) do
  def insert(key, value)
    return self.value += value if key == self.key

    side = key < self.key ? :left : :right
    self[side] ? self[side].insert(key, value) : self[side] = Node.new(key, value)
  end

  def each(&block)
    left&.each(&block)
    yield key, value
    right&.each(&block)
  end
end

LEXICON = Array.new(4000) { random_word }.freeze

# Objects: trees that are built and dropped.
(3 * SCALE).times do |round|
  root = Node.new('m', 0)
  20_000.times { |i| root.insert(LEXICON[RANDOM.rand(LEXICON.size)], i) }
  pairs = []
  root.each { |key, value| pairs << "#{key}=#{value}" }
  say_digest("tree #{round}", pairs)
end
GC.start

# Strings: building, scanning, substituting, symbols, encodings.
text = Array.new(8_000 * SCALE) { Array.new(12) { LEXICON.sample(random: RANDOM) }.join(' ') }.join("\n")
say_digest('counts', text.split.tally.sort_by { |word, n| [-n, word] }.map { |word, n| format('%-20s%6d', word, n) })
say_digest('swapped', text.gsub(/\b([a-m]\w*) ([n-z]\w*)\b/) { "#{$2} #{$1.upcase}" }.lines)
say_digest('wide', [text.encode('UTF-16LE').bytesize, text.tr('a-y', 'b-z').reverse])
say_digest('symbols', text.split.uniq.map { |word| :"#{word}_symbol" }.sort)
grown = Array.new(100) { +'' }
(60_000 * SCALE).times { |i| grown[RANDOM.rand(100)] << LEXICON[i % LEXICON.size] }
say_digest('grown', grown)

# Marshal and JSON round trips.
data = LEXICON.each_with_index.to_h { |word, i| [word, { 'n' => i, 'parts' => word.chars, 'half' => i / 2.0 }] }
(2 * SCALE).times do
  data = JSON.parse(JSON.generate(Marshal.load(Marshal.dump(data))))
end
say_digest('round trip', data.map { |word, record| "#{word} #{record}" })

# Big numbers.
say_digest('factorial', [(1..2_000).inject(:*), 3**20_000])

# Threads with a queue, while the collector runs.
queue = SizedQueue.new(64)
workers = Array.new(4) do
  Thread.new do
    seen = Hash.new(0)
    while (job = queue.pop)
      LEXICON.each_slice(50).with_index { |slice, i| seen[(i + job) % 97] += slice.join('-').size }
    end
    seen
  end
end
(150 * SCALE).times { |job| queue << job }
workers.size.times { queue << nil }
total = workers.map(&:value).inject { |a, b| a.merge(b) { |_, x, y| x + y } }
say_digest('threads', total.sort)

# Many fibers, and a forked child that allocates on its own.
fibers = Array.new(500) { |i| Fiber.new { Fiber.yield(i.to_s * 50); LEXICON[i] * 20 } }
say_digest('fibers', fibers.map { |fiber| [fiber.resume, fiber.resume] })
reader, writer = IO.pipe
child = fork do
  reader.close
  GC.start
  writer.write(Digest::MD5.hexdigest(LEXICON.permutation(2).first(100_000).join))
  writer.close
end
writer.close
say_digest('fork', [reader.read])
Process.wait(child)
puts "child #{$?.exitstatus}"
