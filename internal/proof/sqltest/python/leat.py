"""What docs/any-language.md says for MySQL, MariaDB and SQLite, run as it stands there.

Usage: leat.py DATABASE COMMAND …, where DATABASE is an object of JSON: dialect, and path
or what pymysql.connect takes.
"""

import json
import pathlib
import random
import re
import sqlite3
import sys
import uuid

PAGE = (pathlib.Path(__file__).parents[4] / "docs" / "any-language.md").read_text()
TEXTS = dict(re.findall(r"<!-- (?:sql|python): (\w+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
CLOCKS = re.findall(r"`\{clock\}` is\s`(.*?)`", PAGE)
exec(TEXTS["values"])  # shard, bucket, stored_id, millis


class Database:
    def __init__(self, dialect, **where):
        self.lite = dialect == "sqlite"
        if self.lite:
            self.conn = sqlite3.connect(where["path"], isolation_level=None)
            self.run("PRAGMA busy_timeout = 60000")
            self.run("PRAGMA synchronous = FULL")
        else:
            import pymysql

            self.conn = pymysql.connect(autocommit=True, **where)

    def run(self, statement, **values):
        """Runs a statement of the page, by its name, or another one."""
        text = TEXTS.get(statement, statement).replace("{clock}", CLOCKS[self.lite])
        if self.lite:
            text = text.replace("INSERT IGNORE", "INSERT OR IGNORE").replace("FOR UPDATE SKIP LOCKED", "")
        elif values:
            text = re.sub(r":(\w+)", r"%(\1)s", text)
        cursor = self.conn.cursor()
        cursor.execute(text, values)
        return cursor

    def begin(self):
        self.run("BEGIN IMMEDIATE" if self.lite else "BEGIN")


def lock(db, keys):
    for b in sorted({bucket(b"outbox", key) for key in keys}):
        assert db.run("lock", bucket=b).fetchone() == (b,)


def enqueue(db, topic, key, payload, locked, **more):
    """Inserts a message. Of a key that is not locked, it locks the key as well."""
    message_id = str(uuid.uuid4()).encode()
    values = dict(shard=shard(key or message_id), id=message_id, topic=topic, key=key, type=b"made", payload=payload)
    values.update(headers=json.dumps({"from": "Python"}).encode(), occurred_at=None, **more)
    if more:
        statement = "enqueue_delayed"
    elif locked or not key or db.lite:
        statement = "enqueue"
    else:
        statement = "enqueue_keyed"
        values["bucket"] = bucket(b"outbox", key)
    assert db.run(statement, **values).rowcount == 1


def produce(db, topic, count):
    """Each transaction enqueues, and then numbers each of its keys under the keys' locks."""
    topic = topic.encode()
    chance = random.Random(1)
    for n in range(int(count)):
        keys = [b"k%d" % k for k in chance.sample(range(3), 2 if n % 3 == 0 else 1)]
        db.begin()
        if len(keys) > 1 and not db.lite:
            lock(db, keys)
        for key in keys:
            enqueue(db, topic, key, b"", locked=len(keys) > 1)
        for key in keys:
            last = db.run("SELECT COALESCE(MAX(n), 0) FROM numbers WHERE k = :key", key=key).fetchone()[0]
            db.run("INSERT INTO numbers (k, n) VALUES (:key, :n)", key=key, n=last + 1)
            enqueue(db, topic, key, b"%d" % (last + 1), locked=True)
        db.run("ROLLBACK" if n % 10 == 9 else "COMMIT")
        print(n, flush=True)
    enqueue(db, topic, b"", b"unordered", locked=False)
    enqueue(db, topic, b"late", b"delayed", locked=False, not_before=1)


def consume(db, consumer):
    """Answers each id that comes in with what happened to its claim."""
    consumer = consumer.encode()
    db.run("register", consumer=consumer)
    number = db.run("number", consumer=consumer).fetchone()[0]
    for line in sys.stdin:
        print(json.dumps(handle(db, consumer, number, json.loads(line))), flush=True)


def handle(db, consumer, number, message_id):
    stored, token = stored_id(message_id), random.getrandbits(31)
    row = dict(number=number, id=stored)
    place = 0 if db.lite else bucket(b"inbox", b"leat_inbox", consumer, stored)
    db.begin()
    if db.run("claim", token=token, bucket=place, millis=millis(stored), **row).rowcount == 1:
        db.run("INSERT INTO effects (id) VALUES (:id)", id=message_id.encode())
        assert db.run("proof", token=token, **row).fetchone() == (1,)
        db.run("COMMIT")
        return "claimed"
    db.run("ROLLBACK")
    there, floor = db.run("look", bucket=place, **row).fetchone()
    if there:
        db.run("fence", number=number)
        return "duplicate"
    if floor < 0:
        return "not migrated"
    return "too old" if millis(stored) < floor else "busy"


def compute(_db, consumer):
    """Answers each text that comes in with what is computed of it."""
    for line in sys.stdin:
        text = json.loads(line)
        stored, raw = stored_id(text), text.encode()
        place = bucket(b"inbox", b"leat_inbox", consumer.encode(), stored)
        values = [shard(raw), bucket(b"outbox", raw), stored.hex(), millis(stored), place]
        print(json.dumps(values), flush=True)


def create(db, *names):
    for name in names:
        db.run(name)


if __name__ == "__main__":
    commands = {"produce": produce, "consume": consume, "compute": compute, "create": create}
    commands[sys.argv[2]](Database(**json.loads(sys.argv[1])), *sys.argv[3:])
