package metrics

// outboxRows returns the metrics of producers, of the figures of an outbox, and of its
// maintenance.
func outboxRows() []Definition {
	outbox, group, slot := []string{"outbox"}, []string{"outbox", "group"}, []string{"outbox", "group", "slot"}
	return []Definition{
		{
			id: outboxEnqueued, Name: "leat_outbox_enqueued_messages_total", Kind: KindCounter, Unit: "{message}", Labels: []string{"outbox", "topic"},
			Help: "Messages that were enqueued, before the commit or rollback of their transactions.",
		},
		{
			id: outboxEnqueueErrors, Name: "leat_outbox_enqueue_errors_total", Kind: KindCounter, Unit: "{call}", Labels: outbox,
			Help: "Calls that enqueue and have failed.",
		},
		{
			id: outboxEnqueueDuration, Name: "leat_outbox_enqueue_duration_seconds", Kind: KindHistogram, Unit: "s", Labels: outbox, Buckets: quick(),
			Help: "Time that calls which enqueue took, failed ones included.",
		},
		{
			id: outboxLag, Name: "leat_outbox_lag_seconds", Kind: KindGauge, Unit: "s", Labels: slot,
			Help: "Age of the oldest message of the log that is not settled, by the database's clock; 0 if there is none. What is set aside is settled.",
		},
		{
			id: outboxOldest, Name: "leat_outbox_oldest_waiting_seconds", Kind: KindGauge, Unit: "s", Labels: []string{"outbox", "group", "state"},
			Help: "Age of the oldest message that is not sent, by the database's clock: of the log, of those that are retrying, and of those waiting behind one of their key; 0 if there is none.",
		},
		{
			id: outboxBacklog, Name: "leat_outbox_backlog_messages", Kind: KindGauge, Unit: "{message}", Labels: slot,
			Help: "Messages that are not settled; an estimate above a thousand.",
		},
		{
			id: outboxLeaseRemaining, Name: "leat_outbox_lease_remaining_seconds", Kind: KindGauge, Unit: "s", Labels: slot,
			Help: "How long the lease of the slot's leader still runs; 0 if there is no leader.",
		},
		{
			id: outboxPositionUnusable, Name: "leat_outbox_position_unusable", Kind: KindGauge, Unit: "1", Labels: slot,
			Help: "1 if the slot's position belongs to another cluster or log, or lies ahead of the log, so that relays refuse it.",
		},
		{
			id: outboxHeld, Name: "leat_outbox_held_messages", Kind: KindGauge, Unit: "{message}", Labels: []string{"outbox", "group", "state"},
			Help: "Messages that are set aside: retrying, parked, or waiting behind one of their key; counted up to 10,000, and estimated beyond that if the store can.",
		},
		{
			id: outboxDead, Name: "leat_outbox_dead_messages", Kind: KindGauge, Unit: "{message}", Labels: group,
			Help: "Messages that were given up and are kept; counted up to 10,000, and estimated beyond that if the store can.",
		},
		{
			id: outboxDelayed, Name: "leat_outbox_delayed_messages", Kind: KindGauge, Unit: "{message}", Labels: outbox,
			Help: "Messages that are not due yet; counted up to 10,000, and estimated beyond that if the store can.",
		},
		{
			id: outboxLogBytes, Name: "leat_outbox_log_bytes", Kind: KindGauge, Unit: "By", Labels: outbox,
			Help: "Size of the log with its indexes.",
		},
		{
			id: outboxRangesAhead, Name: "leat_outbox_ranges_ahead", Kind: KindGauge, Unit: "{range}", Labels: outbox,
			Help: "Empty ranges of the log that are ready beyond the one in use.",
		},
		{
			id: outboxStatsErrors, Name: "leat_outbox_stats_errors_total", Kind: KindCounter, Unit: "{call}", Labels: outbox,
			Help: "Samples of the outbox's figures that have failed.",
		},
		{
			id: outboxRounds, Name: "leat_outbox_maintenance_rounds_total", Kind: KindCounter, Unit: "{round}", Labels: []string{"outbox", "outcome"},
			Help: "Rounds of the outbox's maintenance in this process, and moves of delayed messages: ok or failed.",
		},
		{
			id: outboxLastRound, Name: "leat_outbox_maintenance_last_success_timestamp_seconds", Kind: KindGauge, Unit: "s", Labels: outbox,
			Help: "When a round of the outbox's maintenance last succeeded in this process, in seconds since 1970; 0 if never.",
		},
		{
			id: outboxAlarms, Name: "leat_outbox_alarms_total", Kind: KindCounter, Unit: "{alarm}", Labels: []string{"outbox", "kind"},
			Help: "Alarms that the outbox's maintenance has raised in this process, once each while they last.",
		},
		{
			id: outboxAlarmActive, Name: "leat_outbox_alarm_active", Kind: KindGauge, Unit: "1", Labels: []string{"outbox", "kind"},
			Help: "1 while an alarm of the outbox's maintenance lasts, in the process that works.",
		},
	}
}
