package diagnose

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/inbox/admin"
)

// inboxChecks are the checks of an inbox. They pass if the inbox does not exist.
type inboxChecks struct {
	store admin.Inbox
	there func(ctx context.Context) (bool, error)
	// silent is the time without activity after which a consumer is reported, replay how long the outbox
	// keeps messages, and topic how long topics do.
	silent, replay time.Duration
	// enabled is set if the store requires that retention is enabled.
	enabled bool
	topic   func(ctx context.Context) (time.Duration, error)
}

func (c inboxChecks) all() []doctor.Check {
	checks := []doctor.Check{
		{Name: "inbox.retention", Run: c.retention},
		{Name: "inbox.covers", Run: c.covers},
		{Name: "inbox.ranges", Run: c.ranges},
		{Name: "inbox.consumers", Run: c.consumers},
		{Name: "inbox.parked", Run: c.parked},
	}
	for i := range checks {
		run := checks[i].Run
		checks[i].Run = func(ctx context.Context) ([]doctor.Finding, error) {
			if there, err := c.there(ctx); err != nil || !there {
				return nil, err
			}
			return run(ctx)
		}
	}
	return checks
}

func (c *Doctor) inboxChecks(all []doctor.Check, db open.Database, kafka sink.Closer) ([]doctor.Check, error) {
	store, err := db.Inbox()
	if err != nil {
		return nil, err
	}
	component, err := db.Component("inbox")
	if err != nil {
		return nil, err
	}
	_, enabled := db.(open.RetentionEnabler)
	checks := inboxChecks{
		enabled: enabled, store: store, silent: time.Duration(c.Silent), replay: time.Duration(c.OutboxRetention),
		there: func(ctx context.Context) (bool, error) {
			current, _, err := component.Status(ctx)
			return current > 0, err
		},
		topic: func(ctx context.Context) (time.Duration, error) {
			if kafka == nil {
				return 0, nil
			}
			return sink.LongestRetention(ctx, kafka, c.usesOf(db))
		},
	}
	return append(all, checks.all()...), nil
}

// kept returns the retention of the inbox; false if the store does not report it.
func (c inboxChecks) kept(ctx context.Context) (admin.Retention, bool, error) {
	retainer, ok := c.store.(admin.Retainer)
	if !ok {
		return admin.Retention{}, false, nil
	}
	r, err := retainer.Retention(ctx)
	return r, true, err
}

func (c inboxChecks) retention(ctx context.Context) ([]doctor.Finding, error) {
	r, told, err := c.kept(ctx)
	if err != nil || !told || r.Mode != admin.RetainAll {
		return nil, err
	}
	advice := "run its maintenance: leat run, or in your services"
	if c.enabled {
		advice = "leat inbox retention enable, and run its maintenance: leat run, or in your services"
	}
	return []doctor.Finding{{Verdict: doctor.Warn, Text: "the inbox forgets nothing: it grows for ever", Advice: advice}}, nil
}

// covers checks what the inbox has forgotten so far. An inbox that forgets nothing passes.
func (c inboxChecks) covers(ctx context.Context) ([]doctor.Finding, error) {
	r, told, err := c.kept(ctx)
	if err != nil || !told || r.Floor.IsZero() {
		return nil, err
	}
	if r.Kept < 0 {
		return []doctor.Finding{{
			Verdict: doctor.Fail,
			Text:    fmt.Sprintf("the floor is %s ahead of the database's clock: messages that are made until then are too old", (-r.Kept).Round(time.Second)),
			Advice:  "leat inbox retention lower, once clocks are right",
		}}, nil
	}
	topic, err := c.topic(ctx)
	if err != nil {
		return nil, err
	}
	return open.Covers(r.Kept.Round(time.Second), topic, c.replay), nil
}

func (c inboxChecks) ranges(ctx context.Context) ([]doctor.Finding, error) {
	r, told, err := c.kept(ctx)
	if err != nil || !told || r.Mode != admin.RetainRanges {
		return nil, err
	}
	for _, part := range r.Ranges {
		if part.From.After(r.At) {
			return nil, nil
		}
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Text: "no range is ahead: deliveries will have to make it, which needs rights, or are refused", Advice: "run its maintenance: leat run, or in your services",
	}}, nil
}

// each calls look for each consumer.
func (c inboxChecks) each(ctx context.Context, look func(admin.Consumer) []doctor.Finding) ([]doctor.Finding, error) {
	var all []doctor.Finding
	for q := (admin.ConsumersQuery{}); ; {
		page, err := c.store.Consumers(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, consumer := range page {
			all = append(all, look(consumer)...)
			q.After = consumer.Name
		}
		if len(page) == 0 {
			return all, nil
		}
	}
}

func (c inboxChecks) consumers(ctx context.Context) ([]doctor.Finding, error) {
	return c.each(ctx, func(consumer admin.Consumer) []doctor.Finding {
		idle := time.Since(consumer.LastActivity)
		if consumer.LastActivity.IsZero() || idle < c.silent {
			return nil
		}
		return []doctor.Finding{{
			Verdict: doctor.Warn, Text: fmt.Sprintf("consumer %s is silent for %s", consumer.Name, idle.Round(time.Hour)),
			Advice: "does it run, under this name? A consumer that was renamed starts with an empty memory",
		}}
	})
}

func (c inboxChecks) parked(ctx context.Context) ([]doctor.Finding, error) {
	return c.each(ctx, func(consumer admin.Consumer) (all []doctor.Finding) {
		if consumer.Parked > 0 {
			all = append(all, doctor.Finding{
				Verdict: doctor.Warn, Text: fmt.Sprintf("consumer %s: an operator must act on %s", consumer.Name, show.Things(consumer.Parked, "parked message")),
				Advice: "leat inbox parked errors --consumer " + consumer.Name,
			})
		}
		if consumer.Redriving > 0 {
			all = append(all, doctor.Finding{
				Verdict: doctor.Warn,
				Text:    fmt.Sprintf("consumer %s: not run yet, with all behind them: %s", consumer.Name, show.Things(consumer.Redriving, "redriven message")),
				Advice:  "does the service run that redrives for this name (docs/inbox-failures.md)? A handler that was renamed runs nothing that its old name has parked",
			})
		}
		return all
	})
}
