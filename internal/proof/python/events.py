"""CloudEvents' own SDK, in both of its forms, on messages of Kafka.

Usage: events.py write
       events.py read

A message is a line of JSON: headers, and the value in base64. write prints one for each form and
mode. read gets messages, and prints each event as JSON.
"""

import base64
import json
import sys
from datetime import datetime, timezone

from cloudevents.core.bindings import kafka
from cloudevents.core.v1.event import CloudEvent
from cloudevents.v1 import http
from cloudevents.v1 import kafka as former


def write():
    attributes = {"id": "7", "source": "/tax", "type": "tax.Changed", "datacontenttype": "application/json", "subject": "de"}
    data = {"rate": 19}
    event = CloudEvent({**attributes, "specversion": "1.0", "time": datetime(2026, 11, 29, tzinfo=timezone.utc)}, data)
    old = http.CloudEvent({**attributes, "time": "2026-11-29T00:00:00Z"}, data)
    for m in (kafka.to_binary_event(event), kafka.to_structured_event(event), former.to_binary(old), former.to_structured(old)):
        headers = {name: value.decode() for name, value in m.headers.items()}
        print(json.dumps({"headers": headers, "value": base64.b64encode(m.value).decode()}))


def read():
    for line in sys.stdin:
        m = json.loads(line)
        headers = {name: value.encode() for name, value in m["headers"].items()}
        event = kafka.from_kafka(kafka.KafkaMessage(headers, None, base64.b64decode(m["value"])), kafka.JSONFormat())
        data = event.get_data()
        if isinstance(data, bytes):
            data = {"base64": base64.b64encode(data).decode()}
        print(json.dumps({
            "id": event.get_id(), "source": event.get_source(), "type": event.get_type(), "time": event.get_time().isoformat(),
            "subject": event.get_subject(), "version": event.get_extension("eventversion"), "key": event.get_extension("contentkey"),
            "data": data,
        }))


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]]()
