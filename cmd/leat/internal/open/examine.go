package open

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/sqlfile"
)

// Examination has the parameters of the checks.
type Examination struct {
	// Long is the age from which an open or prepared transaction is long.
	Long time.Duration
	// Slots is the number of slots of all groups. A relay has two connections for each.
	Slots int
	// SlotsUnknown is the reason why Slots is unknown, nil if it is known.
	SlotsUnknown error
	// Roles are the roles whose rights are checked.
	Roles []Role
}

// Examiner is a Database that can check its server.
type Examiner interface {
	Checks(e Examination) ([]doctor.Check, error)
}

//go:embed sql/*.sql
var statements embed.FS

// examination is an Examination with its statements.
type examination struct {
	*Postgres
	Examination

	sql map[string]string
}

// Checks are the checks of a PostgreSQL server.
func (p *Postgres) Checks(e Examination) ([]doctor.Check, error) {
	x := examination{Postgres: p, Examination: e}
	render := strings.NewReplacer("{log}", p.log())
	var err error
	x.sql, err = sqlfile.LoadAll(
		statements, func(sql string) (string, error) { return render.Replace(sql), nil },
		"settings", "connections", "sequence", "sequences", "last_value", "transactions", "prepared", "replication_slots",
		"server_facts", "in_hot_standby", "shape", "age", "autovacuum", "dead_rows", "never_analyzed", "rights",
		"replication", "renamed",
	)
	return slices.Concat(x.serverChecks(), []doctor.Check{
		{Name: "sequence.definition", Run: x.sequenceDefinition},
		{Name: "sequence.value", Run: x.sequenceValue},
		{Name: "holders.transactions", Run: x.openTransactions},
		{Name: "holders.prepared", Run: x.preparedTransactions},
		{Name: "holders.replication_slots", Run: x.slotsOfReplication},
		{Name: "vacuum.wraparound", Run: x.wraparound},
		{Name: "vacuum.autovacuum", Run: x.autovacuum},
		{Name: "vacuum.dead_rows", Run: x.deadRows},
		{Name: "vacuum.statistics", Run: x.neverAnalyzed},
	}, x.roles()), err
}

func (x examination) serverChecks() []doctor.Check {
	return []doctor.Check{
		{Name: "schema.shape", Run: x.shape},
		{Name: "server.version", Run: x.version},
		{Name: "server.standby", Run: x.standby},
		{Name: "server.encoding", Run: x.encoding},
		{Name: "server.durability", Run: x.durability},
		{Name: "server.connections", Run: x.connectionsLeft},
		{Name: "server.clock", Run: x.clock},
		{Name: "server.pooler", Run: x.pooler},
	}
}

// findings runs a query, and returns a finding for each row.
func findings(ctx context.Context, p *Postgres, sql string, args []any, finding pgx.RowToFunc[doctor.Finding]) ([]doctor.Finding, error) {
	rows, err := p.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, finding)
}

func (x examination) durability(ctx context.Context) ([]doctor.Finding, error) {
	return findings(ctx, x.Postgres, x.sql["settings"], nil, func(row pgx.CollectableRow) (doctor.Finding, error) {
		var name, setting, whose string
		var elsewhere bool
		err := row.Scan(&name, &setting, &whose, &elsewhere)
		f := doctor.Finding{
			Verdict: doctor.Fail, Text: fmt.Sprintf("%s is %s, %s", name, setting, whose),
			Advice: "switch it on: a crash of the server loses or breaks what was committed",
		}
		switch {
		case elsewhere:
			f = doctor.Finding{Verdict: doctor.OK, Text: f.Text + "; leat.durable_storage says that the storage keeps commits by other means"}
		case name != "synchronous_commit":
			f.Advice += ". If the service keeps commits by other means, as Neon does, say so in the address of this command: options=-c%20leat.durable_storage%3Don"
		}
		return f, err
	})
}

func (x examination) connectionsLeft(ctx context.Context) ([]doctor.Finding, error) {
	if x.SlotsUnknown != nil {
		return nil, x.SlotsUnknown
	}
	room, err := x.Room(ctx)
	if err != nil {
		return nil, err
	}
	idle, most := x.Slots+shared, 2*x.Slots+shared
	if room.Left >= most {
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn,
		Text: fmt.Sprintf("%d connections are left of %d; relays of %d slots, with maintenance, take %d while they are idle and %d at work, beside their pools",
			room.Left, room.Most, x.Slots, idle, most),
		Advice: "raise max_connections or the database's limit, or make pools smaller",
	}}, nil
}

func (x examination) clock(ctx context.Context) ([]doctor.Finding, error) { return clock(ctx, x.Now) }

// errNoSequence is returned if the log has no sequence, or the role cannot see it.
var errNoSequence = errors.New("the log has no sequence that this role sees")
