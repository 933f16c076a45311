package pgoutbox

import (
	"fmt"

	"github.com/leat-go/leat/outbox"
)

// oneStatements store a single message. checked also makes sure of the database.
type oneStatements struct {
	plain, checked string
}

func renderOne(cfg Config) (oneStatements, error) {
	var s oneStatements
	for file, to := range map[string]*string{"enqueue_one": &s.plain, "enqueue_one_checked": &s.checked} {
		raw, err := sqlFiles.ReadFile("sql/" + file + ".sql")
		if err != nil {
			return oneStatements{}, fmt.Errorf("leat: statement %s: %w", file, err)
		}
		if *to, err = cfg.names().Render(string(raw)); err != nil {
			return oneStatements{}, err
		}
	}
	return s, nil
}

// statement returns the INSERT of msgs, which fit one, and its parameters.
func (o *Outbox) statement(msgs []outbox.Message, locks []int64, shared int64, instance *string) (string, []any, error) {
	c, err := columnsOf(msgs)
	if err != nil {
		return "", nil, err
	}
	if c.due != nil {
		return o.later.enqueue, c.args(locks, shared, instance), nil
	}
	// None, or the outbox shared and one key: else it is the outbox exclusively.
	if len(msgs) == 1 && len(locks) != 1 {
		sql, args := o.one.of(c, locks, instance)
		return sql, args, nil
	}
	return o.sql.enqueue, c.args(locks, shared, instance), nil
}

// of returns the statement of the only row of c, and its parameters.
func (s oneStatements) of(c *columns, locks []int64, instance *string) (string, []any) {
	args := make([]any, 0, 11)
	args = append(args, locks, c.shards[0], c.ids[0], textOrNull(&c.idTexts[0]), c.topics[0], textOrNull(&c.keys[0]),
		textOrNull(&c.types[0]), c.payloads[0], textOrNull(&c.headers[0]))
	if c.occurred != nil {
		args = append(args, *c.occurred[0])
	} else {
		args = append(args, nil)
	}
	if instance == nil {
		return s.plain, args
	}
	return s.checked, append(args, *instance)
}
