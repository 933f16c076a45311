package debezium

var (
	ErrConnectorStopped = errConnectorStopped
	ErrNoSlot           = errNoSlot
	ErrConnectorRunning = errConnectorRunning
	ErrRelayRunning     = errRelayRunning
	ErrSlotOlder        = errSlotOlder
)
