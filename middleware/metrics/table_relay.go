package metrics

// relayRows returns the metrics of relays.
func relayRows() []Definition {
	group, slot, topic := []string{"outbox", "group"}, []string{"outbox", "group", "slot"}, []string{"outbox", "group", "topic"}
	return []Definition{
		{
			id: relaySent, Name: "leat_relay_sent_messages_total", OTel: "messaging.client.sent.messages", Kind: KindCounter, Unit: "{message}",
			Labels: []string{"outbox", "group", "topic", "outcome"},
			Help:   "Attempts to send records: delivered, or the kind of failure.",
		},
		{
			id: relaySentBytes, Name: "leat_relay_sent_bytes_total", Kind: KindCounter, Unit: "By", Labels: topic,
			Help: "Bytes of delivered payloads.",
		},
		{
			id: relayReadDuration, Name: "leat_relay_read_duration_seconds", Kind: KindHistogram, Unit: "s", Labels: group, Buckets: quick(),
			Help: "Time of reads of the log, failed ones, too.",
		},
		{
			id: relayPublishDuration, Name: "leat_relay_publish_duration_seconds", OTel: "messaging.client.operation.duration", Kind: KindHistogram, Unit: "s",
			Labels: group, Buckets: quick(),
			Help: "Time of calls of the sink, with a page or a part.",
		},
		{
			id: relayDispatchLatency, Name: "leat_relay_dispatch_latency_seconds", Kind: KindHistogram, Unit: "s", Labels: topic, Buckets: slow(),
			Help: "Age of records at delivery, by this machine's clock.",
		},
		{
			id: relaySettled, Name: "leat_relay_settled_messages_total", Kind: KindCounter, Unit: "{message}", Labels: slot,
			Help: "Records passed by the position.",
		},
		{
			id: relayHeld, Name: "leat_relay_held_messages_total", Kind: KindCounter, Unit: "{message}", Labels: []string{"outbox", "group", "topic", "fate"},
			Help: "Records that were not delivered at once, by fate.",
		},
		{
			id: relayErrors, Name: "leat_relay_errors_total", Kind: KindCounter, Unit: "{error}", Labels: []string{"outbox", "group", "operation"},
			Help: "Errors that the relay survived.",
		},
		{
			id: relayAlarms, Name: "leat_relay_alarms_total", Kind: KindCounter, Unit: "{alarm}", Labels: []string{"outbox", "group", "kind"},
			Help: "Alarms of the relay.",
		},
		{
			id: relayAlarmActive, Name: "leat_relay_alarm_active", Kind: KindGauge, Unit: "1", Labels: []string{"outbox", "group", "kind"},
			Help: "1 while an alarm of the relay lasts.",
		},
		{
			id: relayLeaseHeld, Name: "leat_relay_lease_held", Kind: KindGauge, Unit: "1", Labels: slot,
			Help: "1 if this process leads the slot.",
		},
		{
			id: relayBreakerOpen, Name: "leat_relay_breaker_open", Kind: KindGauge, Unit: "1", Labels: topic,
			Help: "1 if the destination is out, as this process sees it.",
		},
		{
			id: relayLastAck, Name: "leat_relay_last_ack_timestamp_seconds", Kind: KindGauge, Unit: "s", Labels: group,
			Help: "When the destination last acknowledged a record, or 0.",
		},
		{
			id: clockOffset, Name: "leat_relay_clock_offset_seconds", Kind: KindGauge, Unit: "s", Labels: group,
			Help: "How far this machine's clock is ahead of the database's, once a minute.",
		},
		{
			id: relayReplacements, Name: "leat_relay_client_replacements_total", Kind: KindCounter, Unit: "{client}", Labels: group,
			Help: "Clients replaced after a failure.",
		},
		{
			id: relayTail, Name: "leat_relay_tail_follows", Kind: KindGauge, Unit: "1", Labels: group,
			Help: "1 while the tail follows the log, else 0; absent without a tail.",
		},
	}
}
