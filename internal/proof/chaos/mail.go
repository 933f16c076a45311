package chaos

import (
	"sync"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// mail delivers the processes' reports about a fault to the injector of the fault.
type mail struct {
	mu    sync.Mutex
	boxes map[int]chan roles.Report
}

func newMail() *mail { return &mail{boxes: map[int]chan roles.Report{}} }

// open returns the box of a fault.
func (m *mail) open(fault int) <-chan roles.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	box := make(chan roles.Report, 64)
	m.boxes[fault] = box
	return box
}

// close discards the box of a fault: later reports are dropped.
func (m *mail) close(fault int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.boxes, fault)
}

// deliver puts a report into its box.
func (m *mail) deliver(r roles.Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case m.boxes[r.Fault] <- r: // a fault without a box has a nil channel
	default:
	}
}
