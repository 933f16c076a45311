package open

import (
	"context"
	"errors"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// Checks implements Examiner.
func (d *SQL) Checks(e Examination) ([]doctor.Check, error) {
	x := sqlExamination{d, e}
	all := []doctor.Check{{Name: "store.setup", Run: x.setup}, {Name: "server.clock", Run: func(ctx context.Context) ([]doctor.Finding, error) { return clock(ctx, d.Now) }}}
	if d.dialect.OneWriter {
		return append(all, []doctor.Check{
			{Name: "file.journal", Run: x.journal},
			{Name: "file.permissions", Run: x.permissions},
			{Name: "file.log", Run: x.writeAheadLog},
		}...), nil
	}
	return append(all, []doctor.Check{
		{Name: "server.numbers", Run: x.variables(numbers)},
		{Name: "server.read_only", Run: x.variables(readOnly)},
		{Name: "server.durability", Run: x.variables(durability)},
		{Name: "server.binlog", Run: x.variables(binlog)},
		{Name: "server.cluster", Run: x.cluster},
		{Name: "server.version", Run: x.version},
		{Name: "server.replica", Run: x.replica},
		{Name: "server.connections", Run: x.connectionsLeft},
		{Name: "holders.transactions", Run: x.transactions},
		{Name: "holders.prepared", Run: x.prepared},
	}...), nil
}

type sqlExamination struct {
	*SQL
	Examination
}

// setup makes the same checks as a relay at its start, and reports the first one that fails.
func (x sqlExamination) setup(ctx context.Context) ([]doctor.Finding, error) {
	ob, err := x.own()
	if err != nil {
		return nil, err
	}
	source, err := ob.Source(sqloutbox.SourceConfig{Start: driver.Start{Oldest: true}})
	if err != nil {
		return nil, err
	}
	err = source.Check(ctx)
	switch {
	case errors.Is(err, outbox.ErrNotMigrated):
		return []doctor.Finding{{Verdict: doctor.Fail, Text: err.Error(), Advice: "leat migrate up"}}, nil
	case errors.Is(err, driver.ErrSourceUnusable):
		return []doctor.Finding{{Verdict: doctor.Fail, Text: err.Error(), Advice: "no relay starts before it is fixed, see docs/databases.md"}}, nil
	default:
		return nil, err
	}
}
