package sqlinbox_test

import (
	"bytes"
	"context"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestI3_PacketBelowAMessage: a message larger than max_allowed_packet cannot be parked. It is not
// acknowledged either, and the error names the setting; it is parked once the packet is large enough.
// Messages that need not be parked are not affected.
//
//leat:level 4
func TestI3_PacketBelowAMessage(t *testing.T) {
	t.Parallel()
	for dialect, start := range map[outbox.Dialect]func(testing.TB, map[string]string) *testenv.PrivateMySQLServer{
		outbox.MySQL: testenv.PrivateMySQL, outbox.MariaDB: testenv.PrivateMariaDB,
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, openServer(t, dialect, start(t, nil).MySQLServer, nil), sqlinbox.Config{})
			s.db.SetMaxIdleConns(-1) // a session has the packet that was set when it began
			in, err := s.open("c", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1}})
			require.NoError(t, err)
			var before int64
			require.NoError(t, s.look.QueryRowContext(t.Context(), "SELECT @@GLOBAL.max_allowed_packet").Scan(&before))
			set := func(n int64) {
				_, err := s.look.ExecContext(t.Context(), "SET GLOBAL max_allowed_packet = "+strconv.FormatInt(n, 10))
				require.NoError(t, err)
			}
			large := func(id string) *message.Message { return message.NewMessage(id, bytes.Repeat([]byte("x"), 3<<20)) }
			fails := func(context.Context) error { return inbox.Permanent(errHandler) }

			set(1 << 20)
			outcome, err := in.Process(t.Context(), large("fails"), fails)
			require.Error(t, err) // of the setting, unless the server has closed the connection sooner
			require.NotEqual(t, inbox.OutcomeParked, outcome)
			outcome, err = in.Process(t.Context(), large("works"), nothing)
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeCommitted, outcome)

			set(before)
			outcome, err = in.Process(t.Context(), large("fails"), fails)
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeParked, outcome)
		})
	}
}
