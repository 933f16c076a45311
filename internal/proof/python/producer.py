"""A producer: each transaction changes accounts, writes the ledger and enqueues events.

Usage: producer.py URL HISTORY NAME COUNT TOPIC [--outside]

With --outside events are enqueued in a transaction of their own, which is wrong: what is
rolled back is published then. It shows that the checker notices.
"""

import hashlib
import json
import os
import random
import sys
import time

import psycopg


def main(url, history, name, count, topic, outside):
    log = os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(**line):
        line["at"] = time.time_ns() // 1000
        os.write(log, json.dumps(line).encode() + b"\n")

    write(type="start", role="producer", process=name)
    chance = random.Random(name)
    with psycopg.connect(url, autocommit=True) as conn, psycopg.connect(url, autocommit=True) as other:
        for n in range(count):
            keys = sorted(chance.sample(range(8), 2 if n % 5 == 0 else 1))
            events = [{"id": f"{name}-{n}-{k}", "key": f"account-{k}", "amount": n + 1} for k in keys]
            rolls_back = n % 10 == 9
            try:
                with conn.transaction():
                    for e in events:
                        book(conn, e)
                    enqueue(other if outside else conn, topic, events, by_trigger=n % 3 == 0 and not outside)
                    for e in events:
                        write(type="intent", topic=topic, digest=digest(e), **e)
                    if rolls_back:
                        raise psycopg.Rollback()
            except psycopg.OperationalError:
                for e in events:
                    write(type="unknown", id=e["id"])
                raise
            for e in events:
                write(type="aborted" if rolls_back else "committed", id=e["id"])
            print(n, flush=True)


def book(conn, e):
    """Moves the amount, and gives the event the next version of its account."""
    row = conn.execute(
        "UPDATE account SET amount = amount + %s, version = version + 1 WHERE key = %s RETURNING version",
        (e["amount"], e["key"]),
    ).fetchone()
    e["version"] = row[0]
    conn.execute(
        "INSERT INTO ledger (id, key, version, amount) VALUES (%s, %s, %s, %s)", (e["id"], e["key"], e["version"], e["amount"])
    )


def enqueue(conn, topic, events, by_trigger):
    """One event by arguments, several by an array, or rows of a table with a trigger."""
    if by_trigger:
        for e in events:
            conn.execute("INSERT INTO orders (id, topic, key, payload) VALUES (%s, %s, %s, %s)", (e["id"], topic, e["key"], payload(e)))
    elif len(events) == 1:
        e = events[0]
        conn.execute("SELECT leat.outbox_enqueue(%s, %s::text, key => %s, id => %s)", (topic, payload(e), e["key"], e["id"]))
    else:
        batch = [{"topic": topic, "key": e["key"], "id": e["id"], "payload": payload(e)} for e in events]
        conn.execute("SELECT leat.outbox_enqueue(%s::jsonb)", (json.dumps(batch),))


def payload(e):
    return json.dumps(e, sort_keys=True)


def digest(e):
    return hashlib.sha256(payload(e).encode()).hexdigest()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], "--outside" in sys.argv)
