"""acre package: a source tarball, and the packages that are made of it."""

import glob
import lzma
import os
import re
import shutil
import subprocess

import packages
import steps
from command_line import add_yes
from places import MADE, ROOT
from say import fail, say

LEVEL = 6  # of xz: level 9 takes twice as long for 3 % less


def add_arguments(parser):
    parser.explain(
        "Makes a source tarball of the commit that is checked out, and packages of that. Prints the paths of what it "
        "made.\n\nThe tarball of a commit has the same bytes wherever it is made.",
        (("{acre} package deb", "Debian packages, and the source package that dpkg-buildpackage takes"),
         ("{acre} package source -o /tmp", "the tarball alone, in /tmp"),
         ("sudo apt install $({acre} package deb | grep -E '/(libacre1|acre)_.*deb$')",
          "make and install the library and the tools")))
    parser.add_argument("-o", "--output", metavar="FOLDER", default=os.path.join(MADE, "package"),
                        help="where they go (default: build/package)")
    add_yes(parser)
    parser.add_argument("kinds", nargs="+", choices=tuple(MAKERS), metavar="KIND",
                        help="source: acre-VERSION.tar.xz; deb: Debian packages; rpm: RPM packages, by packaging/acre.spec")


def git(*words):
    """-> what it printed, or None if there is no git or no clone"""
    try:
        ended = subprocess.run(["git", "-C", ROOT, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        return None
    return ended.stdout if ended.returncode == 0 else None


class Source:
    """The tarball of HEAD in a folder."""

    def __init__(self, folder):
        top = git("rev-parse", "--show-toplevel")
        if top is None or os.path.realpath(top.decode().rstrip("\n")) != ROOT:
            fail(f"package: {ROOT} is no git clone, from which the tarball is made; in an unpacked tarball, "
                 "`cp -r packaging/debian . && dpkg-buildpackage -us -uc -b` makes Debian packages")
        self.version = re.search(rb"project\(acre VERSION (\S+)", git("show", "HEAD:CMakeLists.txt"))[1].decode()
        self.name = f"acre-{self.version}"
        self.path = os.path.join(folder, f"{self.name}.tar.xz")
        if git("status", "--porcelain", "--untracked-files=no"):
            say("package: what is not committed is left out")
        # Times and the order are the commit's, owners root's. The user's settings must not change lines or permissions.
        self.tar = git("-c", "core.autocrlf=false", "-c", "core.eol=lf", "-c", "core.attributesFile=/dev/null", "-c",
                       "tar.umask=022", "archive", "--format=tar", f"--prefix={self.name}/", "HEAD")
        with open(self.path, "wb") as file:
            file.write(lzma.compress(self.tar, preset=LEVEL))

    def unpack(self, folder):
        """-> the folder with the sources"""
        subprocess.run(["tar", "-x", "-C", folder], input=self.tar, check=True)
        return os.path.join(folder, self.name)


def emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def moved(pattern, folder):
    """-> the files of a pattern, where they are afterwards"""
    return sorted(shutil.move(path, os.path.join(folder, os.path.basename(path)))
                  for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))


def make_source(source, folder):
    return [source.path]


def make_deb(source, folder):
    work = emptied(os.path.join(folder, "deb-build"))
    shutil.copy(source.path, os.path.join(work, f"acre_{source.version}.orig.tar.xz"))
    tree = source.unpack(work)
    shutil.copytree(os.path.join(tree, "packaging/debian"), os.path.join(tree, "debian"))
    terse = f"DEB_BUILD_OPTIONS={os.environ.get('DEB_BUILD_OPTIONS', '')} terse"  # each compiler's line is a kilobyte
    steps.run_step(["env", terse, "dpkg-buildpackage", "-us", "-uc"], "building Debian packages", "acre-deb.log", folder, where=tree)
    made = moved(os.path.join(work, "*"), folder)
    shutil.rmtree(work)
    return made


def make_rpm(source, folder):
    work = emptied(os.path.join(folder, "rpm-build"))
    command = ["rpmbuild", "-ba", "-D", f"_topdir {work}", "-D", f"_sourcedir {folder}"]
    if shutil.which("dpkg"):
        command.append("--nodeps")  # rpm does not know what Debian's packages have installed
    tree = source.unpack(work)
    steps.run_step([*command, os.path.join(tree, "packaging/acre.spec")], "building RPM packages", "acre-rpm.log", folder,
                   where=work)
    made = moved(os.path.join(work, "*RPMS/**/*.rpm"), folder)
    shutil.rmtree(work)
    return made


MAKERS = {"source": make_source, "deb": make_deb, "rpm": make_rpm}


def main(options):
    packages.ensure(["package", *options.kinds], options.yes)
    folder = os.path.realpath(options.output)
    try:
        os.makedirs(folder, exist_ok=True)
        source = Source(folder)
        for kind in dict.fromkeys(options.kinds):
            for path in MAKERS[kind](source, folder):
                print(path)
    except steps.StepFailed as failure:
        fail(f"package: {failure}")
    except OSError as error:
        fail(f"package: {error.filename or folder}: {error.strerror}")
    return 0
