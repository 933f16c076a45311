package inbox_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
)

// textLog is a log in memory.
type textLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *textLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *textLog) read() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *textLog) lines() int { return strings.Count(l.read(), "nothing but duplicates") }

// TestA3_NothingButDuplicates: an inbox whose every message is a duplicate for a minute says so,
// and again after a minute. Duplicates between messages that are new are not worth a line.
func TestA3_NothingButDuplicates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &textLog{}
		in, err := meminbox.New("shop/loyalty", meminbox.Config{Config: inbox.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}})
		require.NoError(t, err)
		deliver := func(id string) {
			_, err := in.Process(t.Context(), message.NewMessage(id, nil), func(context.Context) error { return nil })
			require.NoError(t, err)
		}
		for range 20 { // a duplicate after each new one, for two hundred seconds
			deliver(time.Now().String())
			deliver(time.Now().String())
			time.Sleep(10 * time.Second)
		}
		for range 7 { // too few
			deliver("old")
			time.Sleep(time.Minute)
		}
		require.Zero(t, log.lines(), log.read())
		deliver("new")
		for range 15 { // two minutes and a half
			deliver("new")
			time.Sleep(10 * time.Second)
		}
		require.Equal(t, 2, log.lines(), log.read())
		require.Contains(t, log.read(), "consumer=shop/loyalty duplicates=8 lasted=1m10s")
	})
}
