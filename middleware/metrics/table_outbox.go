package metrics

// outboxRows returns the metrics of producers, of the figures of an outbox, and of its
// maintenance.
func outboxRows() []Definition {
	outbox, group, slot := []string{"outbox"}, []string{"outbox", "group"}, []string{"outbox", "group", "slot"}
	return []Definition{
		{
			id: outboxEnqueued, Name: "leat_outbox_enqueued_messages_total", Kind: KindCounter, Unit: "{message}", Labels: []string{"outbox", "topic"},
			Help: "Enqueued messages, counted before commit or rollback.",
		},
		{
			id: outboxEnqueueErrors, Name: "leat_outbox_enqueue_errors_total", Kind: KindCounter, Unit: "{call}", Labels: outbox,
			Help: "Calls of Enqueue that failed.",
		},
		{
			id: outboxEnqueueDuration, Name: "leat_outbox_enqueue_duration_seconds", Kind: KindHistogram, Unit: "s", Labels: outbox, Buckets: quick(),
			Help: "Time of calls that enqueue, failed ones, too.",
		},
		{
			id: outboxLag, Name: "leat_outbox_lag_seconds", Kind: KindGauge, Unit: "s", Labels: slot,
			Help: "Age of the oldest unsettled message of the log, or 0. Records set aside count as settled.",
		},
		{
			id: outboxOldest, Name: "leat_outbox_oldest_waiting_seconds", Kind: KindGauge, Unit: "s", Labels: []string{"outbox", "group", "state"},
			Help: "Age of the oldest unsent message, or 0, by state: log, retrying, or waiting behind one of its key.",
		},
		{
			id: outboxBacklog, Name: "leat_outbox_backlog_messages", Kind: KindGauge, Unit: "{message}", Labels: slot,
			Help: "Unsettled messages; estimated above 1,000.",
		},
		{
			id: outboxLeaseRemaining, Name: "leat_outbox_lease_remaining_seconds", Kind: KindGauge, Unit: "s", Labels: slot,
			Help: "Rest of the leader's lease; 0 without a leader.",
		},
		{
			id: outboxPositionUnusable, Name: "leat_outbox_position_unusable", Kind: KindGauge, Unit: "1", Labels: slot,
			Help: "1 if relays refuse the position: of another cluster or log, or ahead of the log.",
		},
		{
			id: outboxHeld, Name: "leat_outbox_held_messages", Kind: KindGauge, Unit: "{message}", Labels: []string{"outbox", "group", "state"},
			Help: "Messages set aside: retrying, parked, or waiting behind one of their key; estimated above 10,000.",
		},
		{
			id: outboxDead, Name: "leat_outbox_dead_messages", Kind: KindGauge, Unit: "{message}", Labels: group,
			Help: "Messages given up; estimated above 10,000.",
		},
		{
			id: outboxDelayed, Name: "leat_outbox_delayed_messages", Kind: KindGauge, Unit: "{message}", Labels: outbox,
			Help: "Messages not due yet; estimated above 10,000.",
		},
		{
			id: outboxLogBytes, Name: "leat_outbox_log_bytes", Kind: KindGauge, Unit: "By", Labels: outbox,
			Help: "Size of the log and its indexes.",
		},
		{
			id: outboxRangesAhead, Name: "leat_outbox_ranges_ahead", Kind: KindGauge, Unit: "{range}", Labels: outbox,
			Help: "Empty ranges ahead of the one in use.",
		},
		{
			id: outboxStatsErrors, Name: "leat_outbox_stats_errors_total", Kind: KindCounter, Unit: "{call}", Labels: outbox,
			Help: "Samples that failed.",
		},
		{
			id: outboxRounds, Name: "leat_outbox_maintenance_rounds_total", Kind: KindCounter, Unit: "{round}", Labels: []string{"outbox", "outcome"},
			Help: "Rounds of maintenance and moves of delayed messages in this process: ok or failed.",
		},
		{
			id: outboxLastRound, Name: "leat_outbox_maintenance_last_success_timestamp_seconds", Kind: KindGauge, Unit: "s", Labels: outbox,
			Help: "When maintenance last succeeded in this process, or 0.",
		},
		{
			id: outboxAlarms, Name: "leat_outbox_alarms_total", Kind: KindCounter, Unit: "{alarm}", Labels: []string{"outbox", "kind"},
			Help: "Alarms of maintenance in this process; a lasting one counts once.",
		},
		{
			id: outboxAlarmActive, Name: "leat_outbox_alarm_active", Kind: KindGauge, Unit: "1", Labels: []string{"outbox", "kind"},
			Help: "1 while an alarm of maintenance lasts, in the process that works.",
		},
	}
}
