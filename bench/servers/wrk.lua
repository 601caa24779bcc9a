-- What wrk asks for, and what it says meanwhile. Behind the address on its command line:
--   REQUESTS SAMPLES WARM-UP PATH=BYTES…
-- The paths are asked for in turn. After WARM-UP responses, and after each REQUESTS more, a line is written
-- ("sample 0" … "sample SAMPLES"), so that who reads it can tell what that many requests cost the server;
-- wrk itself knows only durations. A response that is not a page of that many bytes is an error.
local per_sample, samples, next_border
local paths, sizes = {}, {}
local asked, answered, wrong, border = 0, 0, 0, 0

function init(words)
  per_sample, samples, next_border = tonumber(words[1]), tonumber(words[2]), tonumber(words[3])
  for at = 4, #words do
    local path, size = words[at]:match("^(.*)=(%d+)$")
    paths[#paths + 1] = wrk.format("GET", path)
    sizes[tonumber(size)] = true
  end
end

function request()
  asked = asked + 1
  return paths[(asked - 1) % #paths + 1]
end

function response(status, headers, body)
  answered = answered + 1
  if status ~= 200 or not sizes[#body] then
    wrong = wrong + 1
  end
  if answered == next_border and border <= samples then
    io.write("sample ", border, " wrong ", wrong, "\n")
    io.flush()
    border = border + 1
    next_border = next_border + per_sample
  end
end
