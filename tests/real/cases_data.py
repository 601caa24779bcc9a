"""Programs that chew on data: sqlite3, git and ghostscript, with inputs made here from fixed seeds."""

import hashlib
import random

from harness import Failure, case


def digest(data):
    return hashlib.sha256(data).hexdigest()


def words(rng, count):
    """Return `count` random lower-case words."""
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 11))) for _ in range(count)]


# sqlite3


def sqlite_script(rows):
    """Return SQL that loads tables, changes them, and queries them in many ways."""
    rng = random.Random(1)
    lexicon = words(rng, 3000)
    lines = [
        "PRAGMA journal_mode=WAL;", "PRAGMA cache_size=-8000;", ".headers on",
        "CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, town TEXT, age INT, note TEXT);",
        "CREATE TABLE deal(id INTEGER PRIMARY KEY, buyer INT REFERENCES person, seller INT, price REAL, what BLOB);",
        "CREATE TABLE log(at INTEGER PRIMARY KEY, entry TEXT);",
        "CREATE TRIGGER logged AFTER UPDATE ON person BEGIN"
        " INSERT INTO log(entry) VALUES(old.name || '>' || new.name); END;",
        "CREATE VIRTUAL TABLE prose USING fts5(body);", "BEGIN;"]
    for number in range(rows):
        note = " ".join(rng.choices(lexicon, k=rng.randint(1, 30)))
        lines.append(f"INSERT INTO person VALUES({number},'{rng.choice(lexicon)}','{rng.choice(lexicon[:200])}',"
                     f"{rng.randint(1, 99)},'{note}');")
        lines.append(f"INSERT INTO deal(buyer,seller,price,what) VALUES({rng.randrange(rows)},{rng.randrange(rows)},"
                     f"{rng.randint(1, 10**6) / 100},x'{rng.randbytes(rng.randint(0, 200)).hex()}');")
        if number % 4 == 0:
            lines.append(f"INSERT INTO prose VALUES('{note}');")
        if number % 1000 == 999:
            lines += ["COMMIT;", "BEGIN;"]
    lines += [
        "COMMIT;",
        "CREATE INDEX by_name ON person(name, age);", "CREATE INDEX by_town ON person(town);",
        "CREATE INDEX by_buyer ON deal(buyer);", "CREATE INDEX by_price ON deal(price DESC);", "ANALYZE;",
        "UPDATE person SET name=upper(name) WHERE age BETWEEN 30 AND 40;",
        "DELETE FROM deal WHERE id % 7 = 3;",
        "SELECT town, count(*), sum(age), min(name), max(note) FROM person GROUP BY town ORDER BY 2 DESC, 1;",
        "SELECT p.town, q.town, count(*), round(sum(price), 2) FROM deal JOIN person p ON p.id=buyer"
        " JOIN person q ON q.id=seller GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2 LIMIT 500;",
        "SELECT id, price, rank() OVER (PARTITION BY buyer % 10 ORDER BY price), sum(price) OVER"
        " (ORDER BY id ROWS 5 PRECEDING) FROM deal ORDER BY id LIMIT 3000;",
        "WITH RECURSIVE chain(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || char(97 + n % 26)"
        " FROM chain WHERE n < 3000) SELECT n, length(s), substr(s, -20) FROM chain WHERE n % 100 = 0;",
        "SELECT town, group_concat(name, ' ') FROM (SELECT * FROM person ORDER BY id) GROUP BY town ORDER BY town;",
        f"SELECT rowid, snippet(prose, 0, '[', ']', '..', 6) FROM prose WHERE prose MATCH '{lexicon[0]} OR"
        f" {lexicon[1][:2]}*' ORDER BY rowid;",
        "SELECT json_group_array(json_object('n', name, 'a', age)) FROM person GROUP BY age ORDER BY age;",
        "SELECT a.name, count(*) FROM person a, person b WHERE a.town=b.town AND a.note < b.note AND a.age = b.age"
        " GROUP BY a.name ORDER BY 2 DESC, 1 LIMIT 100;",
        "SELECT max(at), min(entry), max(entry) FROM log;",
        "VACUUM;", "PRAGMA integrity_check;"]
    return "\n".join(lines).encode()


@case("sqlite3", needs={"sqlite3": "sqlite3"}, probes=[["sqlite3", ":memory:", "SELECT 1"]], quick=True, timeout=120)
def sqlite3(side):
    out = side.run(["sqlite3", "-bail", "load.db"], stdin=sqlite_script(15000 * side.scale))
    if not out.endswith(b"\nok\n"):
        raise Failure("integrity_check is not ok", out[-200:].decode())
    dump = side.run(["sqlite3", "load.db", ".dump"])
    side.run(["sqlite3", "copy.db"], stdin=dump)
    again = side.run(["sqlite3", "copy.db", ".dump"])
    return {"queries": out, "dump": digest(dump), "dump of the copy": digest(again)}


# git

GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.org", "GIT_COMMITTER_DATE": "1700000000 +0000",
    "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "pack.threads", "GIT_CONFIG_VALUE_0": "2",
    "GIT_CONFIG_KEY_1": "safe.directory", "GIT_CONFIG_VALUE_1": "*",
}


def git_stream(commits):
    """Return a fast-import stream: branches of commits that change a hundred text files."""
    rng = random.Random(2)
    lexicon = words(rng, 2000)
    files = {f"d{n % 7}/f{n}.txt": [" ".join(rng.choices(lexicon, k=8)) for _ in range(200)] for n in range(100)}
    tips = {"main": None, "side": None, "topic": None}
    out = []
    for mark in range(1, commits + 1):
        branch = "main" if mark <= 10 else rng.choice(list(tips))
        message = " ".join(rng.choices(lexicon, k=12)).encode()
        out.append(b"commit refs/heads/%s\nmark :%d\ncommitter C <c@example.org> %d +0000\ndata %d\n%s\n"
                   % (branch.encode(), mark, 1700000000 + mark * 60, len(message), message))
        parent = tips[branch] or tips["main"]
        if parent:
            out.append(b"from :%d\n" % parent)
        if mark % 25 == 0 and branch != "main":
            out.append(b"merge :%d\n" % tips["main"])
        for path in rng.sample(sorted(files), 100 if mark == 1 else 4):
            files[path][rng.randrange(200)] = " ".join(rng.choices(lexicon, k=8))
            body = "\n".join(files[path]).encode()
            out.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(body), body))
        tips[branch] = mark
    return b"".join(out)


@case("git", needs={"git": "git"}, probes=[["git", "hash-object", "/dev/null"]], quick=True, timeout=150)
def git(side):
    repo = side.dir / "repo"

    def run(*words, stdin=b"", cwd=repo):
        return side.run(["git", *words], stdin=stdin, cwd=cwd, env=GIT)

    result = {}
    run("init", "-q", "-b", "main", str(repo), cwd=side.dir)
    run("fast-import", "--quiet", stdin=git_stream(400 * side.scale))
    run("reset", "-q", "--hard", "main")
    for number in range(20):
        with open(repo / "d1/f1.txt", "ab") as file:
            file.write(b"\nline %d" % number)
        run("commit", "-q", "-a", "-m", f"small commit {number}")
    run("merge", "-q", "-s", "ours", "-m", "merged", "side")
    run("gc", "-q", "--aggressive", "--prune=now")
    result["fsck"] = run("fsck", "--full", "--strict", "--no-progress")
    result["refs"] = run("show-ref", "--head")
    result["objects"] = digest(b"".join(sorted(run("rev-list", "--all", "--objects").splitlines(keepends=True))))
    result["log"] = digest(run("log", "--all", "-p", "--stat", "--date-order", "-M"))
    result["blame"] = run("blame", "--line-porcelain", "d1/f1.txt")
    result["grep"] = run("grep", "-n", "-E", "a[b-d]{2} ", "side")
    result["diff"] = digest(run("diff", "--word-diff", "main~50", "side"))
    result["archive"] = digest(run("archive", "--format=tar", "topic"))
    run("bundle", "create", "-q", str(side.dir / "all.bundle"), "--all")
    run("clone", "-q", "--bare", f"file://{repo}", "copy", cwd=side.dir)
    run("clone", "-q", str(side.dir / "all.bundle"), "unbundled", cwd=side.dir)
    result["fsck of the clone"] = run("fsck", "--full", "--no-progress", cwd=side.dir / "copy")
    result["tree of the bundle"] = run("ls-tree", "-r", "HEAD", cwd=side.dir / "unbundled")
    run("repack", "-q", "-a", "-d", "-f", "--depth=60", cwd=side.dir / "copy")
    result["refs of the clone"] = run("show-ref", cwd=side.dir / "copy")
    return result


# ghostscript


def postscript(pages):
    """Return a document whose pages have text, curves, gradients, clips and images."""
    rng = random.Random(3)
    lexicon = words(rng, 1500)
    fonts = ["Times-Roman", "Helvetica-Bold", "Courier", "Palatino-Italic", "NewCenturySchlbk-Roman"]
    out = ["%!PS-Adobe-3.0", f"%%Pages: {pages}", "%%EndComments"]
    for page in range(1, pages + 1):
        out.append(f"%%Page: {page} {page}\nsave")
        for band in range(6):
            out.append(f"<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [{band * 100} 0 {band * 100 + 99} 800]"
                       f" /Function << /FunctionType 2 /Domain [0 1]"
                       f" /C0 [{rng.random():.3f} 1 .8] /C1 [1 {rng.random():.3f} .9] /N 1 >> >>"
                       f" gsave newpath {band * 100} 40 99 750 rectclip shfill grestore")
        for _ in range(60):
            out.append(f"{rng.random():.3f} {rng.random():.3f} {rng.random():.3f} setrgbcolor"
                       f" {rng.randint(1, 4)} setlinewidth newpath")
            x = [rng.randrange(600) for _ in range(8)]
            out.append(f"{x[0]} {x[1]} moveto {x[2]} {x[3]} {x[4]} {x[5]} {x[6]} {x[7]} curveto stroke")
        out.append("0 setgray")
        for line in range(55):
            content = " ".join(rng.choices(lexicon, k=10))
            font = f"/{rng.choice(fonts)} {rng.randint(7, 12)} selectfont"
            out.append(f"{font} 50 {770 - line * 13} moveto ({content}) show")
        image = rng.randbytes(48 * 48 * 3).hex()
        out.append("gsave 300 300 translate 150 150 scale 17 rotate 48 48 8 [48 0 0 -48 0 48]"
                   f" {{ currentfile 144 string readhexstring pop }} false 3 colorimage\n{image}\ngrestore")
        out.append("restore showpage")
    return "\n".join(out + ["%%EOF", ""]).encode()


@case("ghostscript", needs={"gs": "ghostscript"}, probes=[["gs", "-q", "-dBATCH", "-dNODISPLAY"]], timeout=240)
def ghostscript(side):
    (side.dir / "in.ps").write_bytes(postscript(20 * side.scale))
    gs = ["gs", "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER"]
    result = {}
    result["messages"] = side.run([*gs, "-sDEVICE=png16m", "-r100", "-sOutputFile=a%03d.png", "in.ps"])
    side.run([*gs, "-sDEVICE=pgmraw", "-r72", "-dTextAlphaBits=4", "-dGraphicsAlphaBits=4", "-sOutputFile=b%03d.pgm",
              "-dNumRenderingThreads=2", "-dBandBufferSpace=500000", "in.ps"])
    side.run([*gs, "-sDEVICE=pdfwrite", "-sOutputFile=c.pdf", "in.ps"])
    side.run([*gs, "-sDEVICE=ppmraw", "-r50", "-sOutputFile=d%03d.ppm", "c.pdf"])
    pages = [path for path in side.dir.iterdir() if path.suffix in (".png", ".pgm", ".ppm")]
    if len(pages) != 3 * 20 * side.scale:
        raise Failure(f"{len(pages)} pages came out")
    result["pages"] = {path.name: digest(path.read_bytes()) for path in pages}
    return result
