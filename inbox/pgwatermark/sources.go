package pgwatermark

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
)

// knownSource is a row of the sources.
type knownSource struct {
	source, topic string
	replaced      bool // another source is the topic's current one
	retired       bool
}

// querier is a connection, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (k keys) knownSources(ctx context.Context, q querier, number int16) ([]knownSource, error) {
	rows, err := q.Query(ctx, k.statements.sources, number)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s knownSource, err error) {
		err = row.Scan(&s.source, &s.topic, &s.replaced, &s.retired)
		return s, err
	})
}

// settleSources compares the topics of the call with those that are remembered,
// and remembers new ones.
func (a *assigning) settleSources(ctx context.Context, tx pgx.Tx, number int16) error {
	known, err := a.knownSources(ctx, tx, number)
	if err != nil {
		return err
	}
	bySource, current := map[string]knownSource{}, map[string]string{}
	for _, s := range known {
		bySource[s.source] = s
		if !s.retired {
			current[s.topic] = s.source
		}
	}
	for i := range a.parts {
		p := &a.parts[i]
		if s, ok := bySource[p.Source]; ok && s.topic != p.Topic {
			return fmt.Errorf("%w: source %s is that of topic %.200q, not of %.200q", driver.ErrNoPosition, p.Source, s.topic, p.Topic)
		}
		if current[p.Topic] != p.Source {
			if err := a.newSource(ctx, tx, number, p, current[p.Topic]); err != nil {
				return err
			}
			replaced := current[p.Topic] != ""
			current[p.Topic] = p.Source
			bySource[p.Source] = knownSource{source: p.Source, topic: p.Topic, replaced: replaced}
		}
		p.fromTop = bySource[p.Source].replaced
	}
	return nil
}

// newSource remembers p's source for its topic. It replaces known, if there is one and the policy
// allows it.
func (a *assigning) newSource(ctx context.Context, tx pgx.Tx, number int16, p *part, known string) error {
	if known != "" {
		refused := !a.cfg.FollowNewSource
		a.alarms = append(a.alarms, outbox.AlarmEvent{Kind: AlarmNewSource, Topic: p.Topic, Attrs: []slog.Attr{
			slog.String("source", p.Source), slog.Bool("refused", refused), slog.String("known_source", known),
		}})
		if refused {
			return sameSource(p.Topic, known, p.Source)
		}
	}
	return a.replaceSource(ctx, tx, number, p.Topic, p.source, known)
}

// sameSource refuses a topic whose source is not the known one.
func sameSource(topic, known, source string) error {
	return basis.Same(basis.ErrSourceChanged, fmt.Sprintf("topic %.200q", topic), known, source)
}

// replaceSource makes source the topic's current one.
func (k keys) replaceSource(
	ctx context.Context, tx pgx.Tx, number int16, topic string, source pgtype.UUID, known string,
) error {
	var replaces *string
	if known != "" {
		replaces = &known
		if _, err := tx.Exec(ctx, k.statements.retire, number, topic); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, k.statements.source, number, source, topic, replaces)
	return err
}
