package metrics

// consumerRows returns the metrics of inboxes and of the middlewares around handlers.
func consumerRows() []Definition {
	inbox, consumer := []string{"inbox"}, []string{"consumer", "outcome"}
	return []Definition{
		{
			id: inboxDeliveries, Name: "leat_inbox_deliveries_total", Kind: KindCounter, Unit: "{delivery}", Labels: consumer,
			Help: "Deliveries to inboxes, by result.",
		},
		{
			id: inboxDuration, Name: "leat_inbox_delivery_duration_seconds", OTel: "messaging.process.duration", Kind: KindHistogram, Unit: "s",
			Labels: []string{"consumer"}, Buckets: quick(),
			Help: "Time of deliveries, from claim to commit or rollback.",
		},
		{
			id: inboxEndToEnd, Name: "leat_inbox_end_to_end_seconds", Kind: KindHistogram, Unit: "s", Labels: []string{"consumer"}, Buckets: slow(),
			Help: "Age of events with a time when their effect was committed, by this machine's clock.",
		},
		{
			id: inboxParked, Name: "leat_inbox_parked_messages", Kind: KindGauge, Unit: "{message}", Labels: inbox,
			Help: "Messages that wait for an operator.",
		},
		{
			id: inboxFailing, Name: "leat_inbox_failing_messages", Kind: KindGauge, Unit: "{message}", Labels: inbox,
			Help: "Failed messages that are tried again.",
		},
		{
			id: inboxStatsErrors, Name: "leat_inbox_stats_errors_total", Kind: KindCounter, Unit: "{call}", Labels: inbox,
			Help: "Samples that failed.",
		},
		{
			id: inboxRounds, Name: "leat_inbox_maintenance_rounds_total", Kind: KindCounter, Unit: "{round}", Labels: []string{"inbox", "outcome"},
			Help: "Rounds of maintenance in this process: ok or failed.",
		},
		{
			id: inboxLastRound, Name: "leat_inbox_maintenance_last_success_timestamp_seconds", Kind: KindGauge, Unit: "s", Labels: inbox,
			Help: "When maintenance last succeeded in this process, or 0.",
		},
		{
			id: inboxAlarms, Name: "leat_inbox_alarms_total", Kind: KindCounter, Unit: "{alarm}", Labels: []string{"inbox", "kind"},
			Help: "Alarms in this process; a lasting one counts once.",
		},
		{
			id: sourceDeliveries, Name: "leat_source_deliveries_total", Kind: KindCounter, Unit: "{delivery}", Labels: []string{"consumer_group", "topic", "outcome"},
			Help: "Deliveries of a broker to handlers, by result.",
		},
		{
			id: sourceDeleted, Name: "leat_source_deleted_offsets_total", Kind: KindCounter, Unit: "{offset}", Labels: []string{"consumer_group", "topic"},
			Help: "Offsets that the broker deleted unread.",
		},
		{
			id: sourceWentBack, Name: "leat_source_went_back_offsets_total", Kind: KindCounter, Unit: "{offset}", Labels: []string{"consumer_group", "topic"},
			Help: "Offsets that the group reads again because its database lost them.",
		},
		{
			id: handlerDuration, Name: "leat_handler_duration_seconds", Kind: KindHistogram, Unit: "s", Labels: []string{"handler", "outcome"}, Buckets: quick(),
			Help: "Time that handlers took: ok, failed or panicked.",
		},
		{
			id: dedupeDeliveries, Name: "leat_dedupe_deliveries_total", Kind: KindCounter, Unit: "{delivery}", Labels: consumer,
			Help: "Deliveries to deduplicators, by result.",
		},
		{
			id: cacheLooks, Name: "leat_cache_looks_total", Kind: KindCounter, Unit: "{look}", Labels: consumer,
			Help: "Looks into inbox caches, by result.",
		},
	}
}
