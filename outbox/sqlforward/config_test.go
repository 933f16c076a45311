package sqlforward

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	db := &sql.DB{}
	ob, err := sqloutbox.New(db, outbox.MySQL, sqloutbox.Config{})
	require.NoError(t, err)
	for field, cfg := range map[string]Config{
		"Table":           {Table: "a`b"},
		"OffsetsTable":    {OffsetsTable: strings.Repeat("x", 65)},
		"StateTable":      {StateTable: "1"},
		"ConsumerGroup":   {Queue: true, ConsumerGroup: "g"},
		"KeepAcked":       {KeepAcked: true},
		"PageSize":        {PageSize: -1},
		"PollMin":         {PollMin: time.Microsecond},
		"PollMax":         {PollMin: time.Second, PollMax: time.Millisecond},
		"GapAge":          {GapAge: time.Millisecond},
		"TakeOverTimeout": {TakeOverTimeout: 1500 * time.Millisecond},
	} {
		_, err := New(db, outbox.MySQL, ob, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, field)
		require.ErrorContains(t, err, field+" =")
	}
	_, err = New(nil, outbox.MySQL, ob, Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = New(db, outbox.MySQL, nil, Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = New(db, "sqlite", ob, Config{})
	require.ErrorContains(t, err, "sqlite")
	_, err = New(db, outbox.MariaDB, ob, Config{})
	require.NoError(t, err)
}
