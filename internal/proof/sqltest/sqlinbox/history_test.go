package sqlinbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/sqlinbox"
)

// TestI14_AnotherServer: a message whose group read its marks on another server is not run, alone or in a
// batch. SQLite has no servers.
func TestI14_AnotherServer(t *testing.T) {
	t.Parallel()
	of := driver.GroupTopic{Group: "g", Topic: "orders", Source: uuid.NewString()}
	for name, open := range map[string]opener{"MySQL": openMySQL, "MariaDB": openMariaDB, "SQLite": openSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, nil)
			in, err := sqlinbox.New(db.db, db.dialect, "c", sqlinbox.Config{Config: inbox.Config{BusyDelay: inbox.NoDelay}})
			require.NoError(t, err)
			other, err := sqlinbox.New(db.db, db.dialect, "c", sqlinbox.Config{Table: "other"})
			require.NoError(t, err)
			require.NoError(t, errors.Join(in.Migrate(t.Context()), other.Migrate(t.Context())))
			marks, err := in.Marks(t.Context(), of)
			require.NoError(t, err)
			batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
			require.NoError(t, err)
			ran := 0
			for form, deliver := range map[string]func(ctx context.Context) error{
				"one": func(ctx context.Context) error {
					_, err := in.Process(ctx, message.NewMessage(uuid.NewString(), nil), func(context.Context) error { ran++; return nil })
					return err
				},
				"batch": func(ctx context.Context) error {
					msgs := []*message.Message{message.NewMessage(uuid.NewString(), nil), message.NewMessage(uuid.NewString(), nil)}
					return errors.Join(batch.Handle(func(context.Context, []*message.Message) error { ran++; return nil })(ctx, msgs)...)
				},
			} {
				ran = 0
				err := deliver(driver.WithMarks(t.Context(), in, "another"))
				if name == "SQLite" {
					require.NoError(t, err, form)
				} else {
					require.Error(t, err, form)
					require.Zero(t, ran, form)
				}
				if form == "one" && name != "SQLite" {
					require.ErrorIs(t, err, driver.ErrMarksMoved)
				}
				require.NoError(t, deliver(driver.WithMarks(t.Context(), in, marks.History)), form)
				require.NoError(t, deliver(driver.WithMarks(t.Context(), other, "another")), "%s: the marks are somewhere else", form)
			}
		})
	}
}
