package kafkasource_test

import (
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
)

// securedCase is a user who lacks a right, or none.
type securedCase struct {
	server       *testenv.SecuredServer
	user         string
	opts         []kgo.Opt
	topic, group string
	lacks        *testenv.ACL
	client       *kgo.Client
}

// eachRight runs test for a user with all rights that sections document, and for one
// without each of them.
func eachRight(t *testing.T, server *testenv.SecuredServer, name string, test func(*testing.T, *securedCase), sections ...string) {
	t.Helper()
	for n := 0; ; n++ {
		user := name + strconv.Itoa(n)
		c := &securedCase{server: server, user: user, topic: "orders-" + user, group: "loyalty-" + user}
		var rights []testenv.ACL
		for _, section := range sections {
			rights = append(rights, testenv.DocumentedACLs(t, section, map[string]string{"orders": c.topic, "loyalty": c.group})...)
		}
		if n > len(rights) {
			return
		}
		title := name + "/all"
		if n > 0 {
			c.lacks = &rights[n-1]
			title = name + "/no " + c.lacks.String()
			rights = slices.Delete(slices.Clone(rights), n-1, n)
		}
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			c.opts = server.As(user, server.User(t, user))
			server.Allow(t, user, rights...)
			test(t, c)
		})
	}
}

// admin returns a client that may do everything.
func (c *securedCase) admin(t *testing.T) *kgo.Client {
	t.Helper()
	if c.client == nil {
		client, err := kgo.NewClient(append(c.server.Admin(), kgo.SeedBrokers(c.server.Brokers...),
			kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		require.NoError(t, err)
		t.Cleanup(client.Close)
		c.client = client
	}
	return c.client
}

// committedNow returns the group's offset of a partition, −1 where it has none.
func (c *securedCase) committedNow(t *testing.T, partition int32) int64 {
	t.Helper()
	var offsets kadm.OffsetResponses
	var err error
	require.Eventually(t, func() bool { // a new group's coordinator may still be on its way
		offsets, err = kadm.NewClient(c.admin(t)).FetchOffsets(t.Context(), c.group)
		return !errors.Is(err, kerr.CoordinatorNotAvailable)
	}, patience, 20*time.Millisecond)
	require.NoError(t, err)
	if o, ok := offsets.Lookup(c.topic, partition); ok {
		return o.At
	}
	return -1
}

// members returns the number of the group's members, 0 while it is being rebalanced.
func (c *securedCase) members(t *testing.T) int {
	t.Helper()
	groups, err := kadm.NewClient(c.admin(t)).DescribeGroups(t.Context(), c.group)
	require.NoError(t, err)
	if g := groups[c.group]; g.State == "Stable" {
		return len(g.Members)
	}
	return 0
}

// says is what an operator is told.
func (c *securedCase) says() string {
	return "allow this client " + c.lacks.Operation.String() + " on " + c.lacks.Resource + " "
}

// lines is a log that a test waits on.
type lines struct {
	mu    sync.Mutex
	text  strings.Builder
	added chan struct{}
}

func newLines() *lines { return &lines{added: make(chan struct{})} }

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.added)
	l.added = make(chan struct{})
	return l.text.Write(line)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *lines) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// await waits for a line that has all of parts.
func (l *lines) await(t *testing.T, parts ...string) {
	t.Helper()
	for late := time.After(patience); ; {
		l.mu.Lock()
		text, added := l.text.String(), l.added
		l.mu.Unlock()
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return
			}
		}
		select {
		case <-added:
		case <-late:
			require.Fail(t, "not in the log", "%q in\n… %s", parts, text[max(0, len(text)-2000):])
		}
	}
}
