package pgwatermark

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/admin"
)

// AcceptSource implements admin.Watermarks.
func (a *operators) AcceptSource(ctx context.Context, r admin.AcceptSourceRequest) (previous string, err error) {
	err = admin.Complete(&r)
	var source pgtype.UUID
	if err == nil {
		if source, err = storedSource(r.Topic, r.Source, 0); err != nil {
			err = fmt.Errorf("%w: %w", admin.ErrInvalidRequest, err)
		}
	}
	if err != nil {
		return "", wrap(r.Consumer, "accept_source", err)
	}
	e := entry{action: "accept_source", by: r.By, topic: r.Topic}
	look := func(k keys, q querier, number int16) error {
		known, err := k.knownSources(ctx, q, number)
		if err != nil {
			return err
		}
		for _, s := range known {
			if s.topic == r.Topic && !s.retired {
				previous = s.source
			}
		}
		return ofTopic(known, r.Source, r.Topic)
	}
	err = a.run(ctx, r.Consumer, r.DryRun, look, func(k keys, tx pgx.Tx, number int16) error {
		if err := look(k, tx, number); err != nil || previous == r.Source {
			return err
		}
		e.details = []slog.Attr{
			slog.String("topic", r.Topic), slog.String("source", r.Source), slog.String("known_source", previous),
		}
		if err := k.replaceSource(ctx, tx, number, r.Topic, source, previous); err != nil {
			return err
		}
		return k.audit(ctx, tx, e)
	})
	if err != nil {
		return "", wrap(r.Consumer, "accept_source", err)
	}
	if e.details != nil {
		e.log(ctx, a.log, r.Consumer)
	}
	return previous, nil
}

// ofTopic refuses a source that is known as that of another topic.
func ofTopic(known []knownSource, source, topic string) error {
	for _, s := range known {
		if s.source == source && s.topic != topic {
			return fmt.Errorf("%w: source %s is that of topic %.200q", admin.ErrInvalidRequest, s.source, s.topic)
		}
	}
	return nil
}
