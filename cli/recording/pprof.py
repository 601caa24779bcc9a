"""A recording as a profile of pprof: what was allocated, what lives at a time, what was temporary."""

from heap_profile import pprof
from heap_profile.profile import TRUNCATED, Kind, Mapping, Profile

KINDS = [Kind("alloc_objects", "count"), Kind("alloc_space", "bytes"), Kind("temporary_objects", "count"),
         Kind("temporary_space", "bytes"), Kind("inuse_objects", "count"), Kind("inuse_space", "bytes")]
MOST_FRAMES = 128  # that a recording keeps of a stack


def make(recording):
    sites = recording.sites()
    locations = recording.named({process["process"]: [site["frames"] for site in process["sites"]]
                                 for process in sites})
    profile = Profile(KINDS, len(KINDS) - 1, recording.info["stack_every"], recording.info["realtime_ns"])
    for process in sites:
        number = process["process"]
        labels = [("process", f"{number} {recording.title(number)}")] if len(sites) > 1 else []
        for site in process["sites"]:
            frames = site["frames"]
            cut = [TRUNCATED] if len(frames) >= MOST_FRAMES else []
            profile.add(tuple(locations[number, address] for address in frames), tuple(sorted(labels + cut)),
                        [*site["allocated"], *site["temporary"], *site["live"]])
    if sites:
        process = recording.processes[sites[0]["process"]]
        profile.main = next((mapping for _, mappings in process.mapped for mapping in mappings
                             if mapping.file == process.program), Mapping(0, 0, 0, process.program or "[unknown]"))
        if process.pid and len(sites) == 1:
            profile.pid = process.pid
            profile.comments.append(f"process {process.pid}")
    return pprof.write(profile)
