"""The source tarball: the same bytes, however and wherever it is made."""

import hashlib
import os
import shutil
import subprocess
import tarfile

# Of the user's, whose git may also convert line ends.
SETTINGS = ({"TZ": "UTC", "LC_ALL": "C"}, {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"})
MASKS = (0o022, 0o077)


def check(checks, source, work):
    sums, paths = [], []
    for number, (variables, mask) in enumerate(zip(SETTINGS, MASKS)):
        clone = work / f"clone {number}" / ("deeper" * number)
        home = work / f"home {number}"
        home.mkdir()
        if number:
            (home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n[tar]\n\tumask = 0002\n")
        environment = dict(os.environ, HOME=str(home), XDG_CONFIG_HOME=str(home), **variables)
        subprocess.run(["git", "-c", "safe.directory=*", "-c", "core.autocrlf=false", "clone", "-q", source, clone],
                       check=True, umask=mask)
        made = subprocess.run([clone / "acre", "package", "-y", "-o", work / f"made {number}", "source"], env=environment,
                              capture_output=True, text=True, umask=mask, cwd=work)
        path, = (work / f"made {number}").glob("*")
        if not checks.that(made.returncode == 0 and made.stdout == f"{path}\n" and not made.stderr,
                           f"acre package source, {variables}", made):
            return
        sums.append(hashlib.sha256(path.read_bytes()).hexdigest())
        paths.append(path)
    checks.that(sums[0] == sums[1], "another folder, umask, locale, time zone and git configuration: the same SHA-256", sums)
    with tarfile.open(paths[0]) as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    listed = subprocess.run(["git", "-C", clone, "ls-files"], capture_output=True, text=True).stdout.split()
    top = paths[0].name.removesuffix(".tar.xz")
    checks.that({name for member, name in zip(members, names) if not member.isdir()} == {f"{top}/{name}" for name in listed},
                f"it has what git has, in {top}/")
    modes = {(member.uid, member.gid, 0 if member.issym() else member.mode & 0o022) for member in members}  # links have all
    checks.that(modes == {(0, 0, 0)},
                "all is root's, and only its owner may write")
    plain = work / "plain"
    shutil.copytree(clone, plain, ignore=shutil.ignore_patterns(".git"))
    refused = subprocess.run([plain / "acre", "package", "-y", "source"], capture_output=True, text=True)
    checks.that(refused.returncode == 1 and refused.stderr.count("\n") == 1 and "no git clone" in refused.stderr,
                "without git's folder it says what to do", refused)
