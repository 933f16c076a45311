package mysqlbinlog

import (
	"bytes"
	"slices"

	"github.com/go-mysql-org/go-mysql/replication"
)

// transaction follows the events of one transaction after another: a binary log does not
// interleave them.
type transaction struct {
	tables  map[table]bool
	touched bool // it has inserted into one of the tables
}

// table is a table with the names that the server writes.
type table struct{ database, name string }

// committed reports whether event is the end of a transaction that has, or may have, touched the
// tables.
func (t *transaction) committed(event *replication.BinlogEvent) bool {
	switch e := event.Event.(type) {
	case *replication.GTIDEvent, *replication.MariadbGTIDEvent:
		t.touched = false // left by a transaction that ended in another way
	case *replication.RowsEvent:
		t.touched = t.touched || t.inserted(e)
	case *replication.TransactionPayloadEvent:
		// All events of a compressed transaction, including its end.
		return slices.ContainsFunc(e.Events, t.committed)
	case *replication.XIDEvent:
		return t.end()
	case *replication.QueryEvent:
		return t.query(e.Query)
	}
	// XA COMMIT … ONE PHASE ends with this, too.
	return event.Header.EventType == replication.XA_PREPARE_LOG_EVENT && t.end()
}

func (t *transaction) end() bool {
	touched := t.touched
	t.touched = false
	return touched
}

// query handles statements. XA COMMIT comes in a separate transaction, perhaps long after the
// rows, and does not name them.
func (t *transaction) query(statement []byte) bool {
	switch {
	case bytes.Equal(statement, []byte("COMMIT")): // of tables that are not in InnoDB
		return t.end()
	case bytes.HasPrefix(statement, []byte("XA COMMIT")):
		return true
	}
	return false
}

func (t *transaction) inserted(e *replication.RowsEvent) bool {
	return e.Type() == replication.EnumRowsEventTypeInsert && t.tables[table{string(e.Table.Schema), string(e.Table.Table)}]
}
