package open

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// migrator is the common part of the stores.
type migrator interface {
	Migrate(ctx context.Context) error
}

// component is the schema of a store.
type component struct {
	migrator

	status func(ctx context.Context) (current, latest int, err error)
	files  func() (fs.FS, error)
}

// Status implements Component.
func (c component) Status(ctx context.Context) (current, latest int, err error) {
	return c.status(ctx)
}

// Files implements Component.
func (c component) Files() (fs.FS, error) { return c.files() }

// Component implements Database.
func (p *Postgres) Component(name string) (Component, error) {
	switch name {
	case "outbox":
		return p.outboxComponent()
	case "inbox":
		return p.inboxComponent()
	case "dedupe":
		return p.dedupeComponent()
	default:
		return nil, fmt.Errorf("component %q: %w", name, errNoComponent)
	}
}

func (p *Postgres) outboxComponent() (Component, error) {
	cfg := p.outboxConfig()
	ob, err := pgoutbox.New(p.Pool, cfg)
	if err != nil {
		return nil, err
	}
	return component{ob, func(ctx context.Context) (current, latest int, err error) {
		s, err := ob.SchemaStatus(ctx)
		return s.Current, s.Latest, err
	}, func() (fs.FS, error) { return pgoutbox.Migrations(cfg) }}, nil
}

func (p *Postgres) inboxComponent() (Component, error) {
	cfg := p.inboxConfig()
	// Migrate and SchemaStatus apply to all consumers, and register none.
	in, err := pginbox.New(p.Pool, "leat", cfg)
	if err != nil {
		return nil, err
	}
	return component{in, func(ctx context.Context) (current, latest int, err error) {
		s, err := in.SchemaStatus(ctx)
		return s.Current, s.Latest, err
	}, func() (fs.FS, error) { return pginbox.Migrations(cfg) }}, nil
}

func (p *Postgres) dedupeComponent() (Component, error) {
	cfg := pgdedupe.Config{Schema: p.target.Schema, Table: p.target.Dedupe, MigrateLockTimeout: p.target.LockTimeout}
	store, err := pgdedupe.New(p.Pool, cfg)
	if err != nil {
		return nil, err
	}
	return component{store, func(ctx context.Context) (current, latest int, err error) {
		s, err := store.SchemaStatus(ctx)
		return s.Current, s.Latest, err
	}, func() (fs.FS, error) { return pgdedupe.Migrations(cfg) }}, nil
}
