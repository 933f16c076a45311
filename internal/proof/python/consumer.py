"""A consumer: reads messages, one a line, and answers each with true if it may be acknowledged.

Usage: consumer.py URL HISTORY CONSUMER [--without-claim]

With --without-claim it does not look whether it has seen a message, which is wrong. It shows
that the checker notices.
"""

import json
import os
import sys
import time

import psycopg


def main(url, history, consumer, claims):
    log = os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(**line):
        line["at"] = time.time_ns() // 1000
        os.write(log, json.dumps(line).encode() + b"\n")

    write(type="start", role="consumer", process=str(os.getpid()))
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SELECT leat.inbox_register(%s)", (consumer,))
        for line in sys.stdin:
            message = json.loads(line)
            write(type="delivered", id=message["id"], consumer=consumer)
            claim = handle(conn, consumer, message, claims)
            if claim == "claimed":
                write(type="effect", id=message["id"], consumer=consumer)
            print(json.dumps(claim != "busy"), flush=True)


def handle(conn, consumer, message, claims):
    claim = "claimed"
    with conn.transaction():
        if claims:
            claim = conn.execute("SELECT leat.inbox_claim(%s, %s)", (consumer, message["id"])).fetchone()[0]
        if claim == "claimed":
            event = json.loads(message["payload"])
            conn.execute("UPDATE book SET amount = amount + %s WHERE key = %s", (event["amount"], event["key"]))
            conn.execute(
                "INSERT INTO effects (id, key, version, amount) VALUES (%s, %s, %s, %s)",
                (event["id"], event["key"], event["version"], event["amount"]),
            )
    return claim


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], "--without-claim" not in sys.argv)
