"""What a profile is of: which program and process, when, how often it sampled; and why there is nothing in it."""

import os
import re
from datetime import datetime

from .views import shown_interval

OWN_NAME = re.compile(r"(.+?)\.(\d{1,10})\.(?:\d+\.)?(?:live|peak|growth)\.pb\.gz")  # of a file that acre names
MOST_NAMES = 3


def facts(profile, word):
    """word: what the command line calls it. What is not known is None; time: with the zone, in seconds."""
    name = OWN_NAME.fullmatch(os.path.basename(word))
    time = None
    if 0 < profile.time_ns < 1 << 62:
        time = datetime.fromtimestamp(profile.time_ns // 10**9).astimezone().isoformat()
    return {
        "profile": word,
        "program": profile.main.file if profile.main and profile.main.file else name[1] if name else None,
        "pid": profile.pid or (int(name[2]) if name else None),
        "time": time,
        "sampling_interval": profile.period or None,
    }


def title(of):
    """of: facts."""
    name = os.path.basename(of["program"] or of["profile"])
    return f"{name} (process {of['pid']})" if of["pid"] else name


def rate(profile):
    if profile.index("growth_space") is not None:
        return "all counted"  # no samples
    if profile.period > 1:
        return f"one sample in {shown_interval(profile.period)}"
    return "every block sampled" if profile.period else ""


def listed(texts, between):
    """Each once, in order."""
    texts = list(dict.fromkeys(filter(None, texts)))
    more = len(texts) - MOST_NAMES
    return between.join(texts[:MOST_NAMES]) + (f"{between}{more} more" if more > 0 else "")


def heading(profiles, words, is_diff=False):
    """-> the title, and further texts: when, and how often a sample was taken."""
    all_facts = [facts(profile, word) for profile, word in zip(profiles, words)]
    times = [re.sub(r"(?=[+-]\d\d:\d\d$)", " ", of["time"] or "").replace("T", " ") for of in all_facts]
    if not is_diff:
        times = sorted(times)
        times = times[:1] + times[1:][-1:]
    between = " → " if is_diff else ", "
    said = listed(times, " → " if is_diff else " to "), listed([rate(profile) for profile in profiles], between)
    return listed([title(of) for of in all_facts], between), [text for text in said if text]


def why_empty(profile, at, is_diff=False):
    """None if it is not."""
    kind = profile.kinds[at].name
    there = [other.name for number, other in enumerate(profile.kinds)
             if any(values[number] for values in profile.samples.values())]
    if kind in there:
        return None
    if is_diff:
        return f"no function's {kind} differs" + (f"; what differs is {', '.join(there)} (--by)" if there else "")
    if profile.active is False:
        return f"sampling is switched off: `acre ctl {profile.pid} prof.active true` switches it on"
    if kind.startswith("growth_"):
        return "the heap has got no address space from the system since sampling began"
    if not there and profile.period > 1:
        how = "`acre run --profile=64K`" if profile.active is None else f"`acre ctl {profile.pid} prof.reset 16`: one in 64 KiB"
        return (f"nothing is sampled yet: the program has allocated too little for {rate(profile)} since sampling began; "
                f"look later, or sample more often ({how})")
    if not there:
        return "nothing is sampled yet: the program has allocated nothing since sampling began; look later"
    if kind.startswith("inuse_"):
        allocated = kind.replace("inuse_", "alloc_")
        return "all that was sampled has been freed" + (f"; --by {allocated} shows what was allocated" if allocated in there else "")
    if kind.startswith("freed_") or kind == "lifetime":
        return "nothing that was sampled has been freed yet" + (" by another thread" if kind == "freed_elsewhere" else "")
    if kind == "held_space":
        return "live blocks hold no free memory: their runs are more than half full, or sampling began late"
    return f"no sample has any {kind}; there is {', '.join(there)} (--by)"
