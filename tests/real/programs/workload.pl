# A text, regular expression, hash, sort and threads workload; prints digests of what it computed.
use strict;
use warnings;
use threads;
use Digest::MD5 qw(md5_hex);
use List::Util qw(shuffle sum0);
use Storable qw(freeze thaw dclone);

my $scale = shift // 1;
my $state = 12345;

sub random_below {
    my ($limit) = @_;
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return int($state / 65536) % $limit;
}

sub random_word {
    my $length = 1 + random_below(3) * random_below(6);
    return join '', map { chr(97 + random_below(26)) } 0 .. $length;
}

sub say_digest {
    my ($what, @values) = @_;
    print "$what ", md5_hex(join "\n", @values), " ", scalar(@values), "\n";
}

# Text: lines of words, counted, substituted and put together again.
my @lexicon = map { random_word() } 1 .. 5000;
my @lines = map { join ' ', map { $lexicon[random_below(5000)] } 1 .. 5 + random_below(15) } 1 .. 12000 * $scale;
my %count;
for my $line (@lines) {
    $count{$_}++ for split / /, $line;
}
my @ranked = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
say_digest('ranked', map { sprintf '%-24s%8d%10.4f', $_, $count{$_}, $count{$_} / @lines } @ranked);

my $text = join "\n", @lines;
(my $swapped = $text) =~ s/\b([a-m]\w*) ([n-z]\w*)\b/$2 \U$1\E/g;
say_digest('swapped', split /\n/, $swapped);
my @repeats = $text =~ /\b(\w*(\w)\2\w*)\b/g;
say_digest('repeats', @repeats);
$swapped =~ tr/A-Za-z/N-ZA-Mn-za-m/;
say_digest('rotated', $swapped);

# Strings that grow by appending, and shrink.
my @grown = ('') x 200;
for my $round (1 .. 40000 * $scale) {
    my $index = random_below(200);
    $grown[$index] .= $lexicon[$round % 5000];
    $grown[$index] = substr($grown[$index], 0, 10) if length $grown[$index] > 20000;
}
say_digest('grown', @grown);

# Nested structures, copied, frozen and thawed.
my %tree;
for my $word (@lexicon) {
    my $node = \%tree;
    $node = $node->{$_} //= {} for split //, $word;
    push @{ $node->{words} }, $word;
}
sub walk {
    my ($node) = @_;
    return map { $_ eq 'words' ? @{ $node->{words} } : walk($node->{$_}) } sort keys %$node;
}
say_digest('tree', walk(\%tree));
for my $round (1 .. 3 * $scale) {
    my $copy = dclone(\%tree);
    say_digest("thawed $round", walk(thaw(freeze($copy))));
}

# Sorting: numbers, strings, by computed keys; pack and unpack.
my @numbers = map { random_below(32768) * 32768 + random_below(32768) } 1 .. 50000 * $scale;
say_digest('numbers', sort { $a <=> $b } @numbers);
say_digest('packed', unpack '(w)*', pack '(w)*', @numbers);
say_digest('schwartzian',
    map { $_->[1] } sort { $a->[0] cmp $b->[0] || $a->[1] cmp $b->[1] } map { [ scalar reverse($_), $_ ] } @lexicon);

# Threads: each gets a copy of the whole interpreter.
for my $round (1 .. $scale) {
    my @threads = map {
        my $seed = $_;
        threads->create(sub {
            my %local;
            $local{ $lexicon[ ($_ * $seed) % 5000 ] } .= "$_," for 1 .. 20000;
            return md5_hex(join ' ', map { "$_=$local{$_}" } sort keys %local);
        });
    } 3 .. 6;
    say_digest("threads $round", map { $_->join } @threads);
}
