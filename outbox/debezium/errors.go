package debezium

import "errors"

var (
	// errNoSlot is returned if the server has no logical replication slot of that name, in
	// this database.
	errNoSlot = errors.New("leat: there is no such replication slot in this database")

	// errSlotLost is returned if the server has removed the write-ahead log that a replication
	// slot needs, so that the connector cannot send the rest.
	errSlotLost = errors.New("leat: the server has removed write-ahead log that the replication slot needs (max_slot_wal_keep_size)")

	// errSlotOlder is returned by Handoff.PrepareConnector if the replication slot exists but its
	// publication does not. The slot must be created after the publication, or a connector fails
	// at each start, or skips rows. Drop the slot if nothing in it is needed any more.
	errSlotOlder = errors.New("leat: the replication slot is older than its publication: drop it first")

	// errConnectorRunning is returned if a replication slot is in use.
	errConnectorRunning = errors.New("leat: a connector uses the replication slot: stop it first")

	// errConnectorStopped is returned by Handoff.Prepare and AwaitConnector if the connector is
	// stopped and has not sent everything: only the connector can send the rest. Start it first.
	errConnectorStopped = errors.New("leat: the connector is stopped and has not sent all: start it first")

	// errRelayRunning is returned by Handoff.Prepare and AwaitConnector while a relay of the
	// group runs: it would send new messages before the connector has sent older ones.
	errRelayRunning = errors.New("leat: a relay of the group is at work: stop it first")

	// errRecordsHeld is returned by Handoff while records of the group are set aside, which
	// Debezium would never send. Redrive or drop them.
	errRecordsHeld = errors.New("leat: records are held, which Debezium would not send")
)
