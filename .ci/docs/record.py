#!/usr/bin/env python3
"""Record leat in a terminal, and draw what it prints as SVG.

Usage, from the root of the repository (make recording):

    leatenv run -services postgres,redis -- .ci/docs/record.py

It builds the command, fills a database of its own, and writes docs/drawings/hello.svg,
status.svg and doctor.svg. Lines appear as they were printed; readers who want no motion see
all of them at once.
"""

import html
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parents[2]
WIDE, HIGH, PAD = 7.83, 18, 16  # of a character, of a line, around them; in pixels
CONFIG = """\
database: %(database)s
outboxes:
  - name: shop
    relays:
      - sink: {redis: {url: 'redis://%(redis)s', prefix: 'recording:', ack: memory, max_message_bytes: 4096}}
    maintenance: {retention: 168h}
http: {listen: '127.0.0.1:18470'}
"""
STYLE = """\
:root{--ink:#24292f;--soft:#57606a;--good:#116329;--odd:#7d4e00;--bad:#a40e26;--paper:#f6f8fa;--edge:#d0d7de}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#8d96a0;--good:#7ee787;--odd:#e3b341;--bad:#ff7b72;--paper:#161b22;--edge:#30363d}}
rect{fill:var(--paper);stroke:var(--edge)}
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;fill:var(--ink);white-space:pre}
.c{fill:var(--soft)}.ok{fill:var(--good)}.warn,.unknown{fill:var(--odd)}.fail{fill:var(--bad)}
@media(prefers-reduced-motion:no-preference){.l{animation:in .2s both}@keyframes in{from{opacity:0}}}
"""


def record(argv, env):
    """Run a command on a terminal; return its lines, each with the second in which it ended."""
    lines, rest, began = [], b"", time.monotonic()
    ours, theirs = pty.openpty()
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=ROOT) as process:
        os.close(theirs)
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # Linux says EIO when nobody has the other end
                chunk = b""
            if not chunk:
                break
            *whole, rest = (rest + chunk).split(b"\n")
            lines += [(time.monotonic() - began, line) for line in whole]
    os.close(ours)
    if rest:
        lines.append((time.monotonic() - began, rest))
    clean = lambda line: re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", line.decode())
    return [(at, clean(line)) for at, line in lines]


def line_of(text):
    """Return the SVG of a line: verdicts of the doctor have colours."""
    text = html.escape(text)
    return re.sub(r"(?<=\s)(ok|warn|fail|unknown)(?=\s)", r'<tspan class="\1">\1</tspan>', text, count=1)


def draw(name, title, said, lines):
    """Write the picture of a command and its lines."""
    lines = [(at, line.rstrip()) for at, line in lines]
    while lines and not lines[-1][1].strip():
        lines.pop()
    columns = max(len(line) for _, line in [(0, "$ " + said), *lines])
    wide, high = round(columns * WIDE + 2 * PAD), (len(lines) + 1) * HIGH + 2 * PAD
    body = [f'<text x="{PAD}" y="{PAD + 13}"><tspan class="c">$</tspan> {html.escape(said)}</text>']
    shown = 0.6
    last = 0.0
    for row, (at, line) in enumerate(lines, 1):
        shown += min(max(at - last, 0.06), 0.7)
        last = at
        soft = ' c' if name == "hello" and not line.startswith(" ") else ""
        body.append(f'<text class="l{soft}" style="animation-delay:{shown:.2f}s" x="{PAD}" y="{PAD + 13 + row * HIGH}">{line_of(line)}</text>')
    target = ROOT / "docs" / "drawings" / f"{name}.svg"
    target.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img">'
        f"<title>{html.escape(title)}</title>\n<style>\n{STYLE}</style>\n"
        f'<rect x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="6"/>\n' + "\n".join(body) + "\n</svg>\n",
        encoding="utf-8",
    )
    print(target.relative_to(ROOT), f"{len(lines)} lines")


def psql(url, sql):
    subprocess.run(["psql", "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", url, "-c", sql], check=True, stdout=subprocess.DEVNULL)


def main():
    server, name = urlsplit(os.environ["LEAT_POSTGRES_URL"]), "leat_recording"
    os.environ["PATH"] += "".join(f":{p}" for p in sorted(Path("/usr/lib/postgresql").glob("*/bin")))
    database = urlunsplit(server._replace(path="/" + name))
    psql(urlunsplit(server), f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    psql(urlunsplit(server), f"CREATE DATABASE {name}")
    with tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch, "leat.yaml")
        config.write_text(CONFIG % {"database": database, "redis": os.environ["LEAT_REDIS_ADDR"]}, encoding="utf-8")
        subprocess.run(["go", "build", "-C", "cmd/leat", "-o", scratch + "/leat", "."], cwd=ROOT, check=True)
        subprocess.run(["go", "build", "-C", "examples", "-o", scratch + "/hello", "./hello"], cwd=ROOT, check=True)
        leat = [scratch + "/leat"]
        env = {k: v for k, v in os.environ.items() if not k.startswith("LEAT_")} | {"LEAT_CONFIG": str(config), "TERM": "xterm", "COLUMNS": "110"}
        draw("hello", "make hello: an outbox, a relay and an inbox in memory", "make hello", record([scratch + "/hello"], env))
        subprocess.run([*leat, "migrate", "up", "--yes"], env=env, check=True, stdout=subprocess.DEVNULL)
        with subprocess.Popen([*leat, "run"], env=env, stderr=subprocess.DEVNULL) as daemon:
            try:
                psql(database, "SELECT leat.outbox_enqueue('orders', '{}', key => 'o-' || n % 40) FROM generate_series(1, 4000) n")
                psql(database, "SELECT leat.outbox_enqueue('invoices', repeat('x', 5000), key => 'o-7')")
                for _ in range(100):
                    out = subprocess.run([*leat, "status", "-o", "json"], env=env, capture_output=True, text=True, check=False).stdout
                    if '"parked":1' in out.replace(" ", ""):
                        break
                    time.sleep(0.1)
                else:
                    sys.exit("nothing is parked: " + out)
                draw("status", "leat status: one record is parked", "leat status", record([*leat, "status"], env))
                only = ["doctor", "--only", "outbox.*"]
                draw("doctor", "leat doctor: what it finds and what to do", "leat doctor --only 'outbox.*'", record([*leat, *only], env))
            finally:
                daemon.terminate()
    psql(urlunsplit(server), f"DROP DATABASE {name} WITH (FORCE)")


if __name__ == "__main__":
    main()
