package memoutbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// control is an Outbox that may break one rule. The conformance suite
// must notice.
type control struct {
	operator

	// Each of these is the unbroken thing where it is nil.
	begin   func(ctx context.Context) (outboxtest.Tx, error)
	enqueue func(ctx context.Context, tx *Tx, msgs []outbox.Message) error
	context func(ctx context.Context, msgs []outbox.Message) error
	acquire func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error)
	session func(s *session) driver.Session
	group   func(group string) string
	config  func(cfg *SourceConfig)
	leave   func() error
	keep    func(s *source, change func(note string, now time.Time) string)
	share   func(share driver.Share) driver.Share
	alone   bool // who asks for its share knows of no other relay
	wake    func()
	promote func(ctx context.Context)
	cancel  func(req admin.CancelRequest) admin.Changed
	history func(h droppable) driver.History
	retain  func()
	die     func(g *group)
	counter func()
	lasting bool
	ground  func() (store string, moves map[string]func(ctx context.Context) error)

	gone int64 // history up to this number is dropped; guarded by mu
}

func newControl(t *testing.T) *control {
	t.Helper()
	ob, err := New(Config{})
	require.NoError(t, err)
	return &control{operator: operatorOf(ob)}
}

func operatorOf(ob *Outbox) operator { return ob.Admin().(operator) }

// broken returns a control that breaks a rule.
func broken(t *testing.T, rule func(c *control)) *control {
	t.Helper()
	c := newControl(t)
	rule(c)
	return c
}

func (c *control) Begin(ctx context.Context) (outboxtest.Tx, error) {
	if c.begin != nil {
		return c.begin(ctx)
	}
	tx, err := c.Outbox.Begin(ctx)
	return controlTx{Tx: tx, c: c}, err
}

func (c *control) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	if c.context != nil {
		return c.context(ctx, msgs)
	}
	return c.Outbox.EnqueueContext(ctx, msgs...)
}

func (c *control) Wake() {
	if c.wake != nil {
		c.wake()
		return
	}
	c.Outbox.Wake()
}

func (c *control) Source(group string) driver.Source {
	return c.source(SourceConfig{Group: group})
}

func (c *control) source(cfg SourceConfig) driver.Source {
	if c.group != nil {
		cfg.Group = c.group(cfg.Group)
	}
	if c.config != nil {
		c.config(&cfg)
	}
	return controlSource{source: c.Outbox.Source(cfg).(*source), c: c}
}

type controlTx struct {
	*Tx

	c *control
}

func (t controlTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	if t.c.enqueue != nil {
		return t.c.enqueue(ctx, t.Tx, msgs)
	}
	return t.c.Enqueue(ctx, t.Tx, msgs...)
}

type controlSource struct {
	*source

	c *control
}

func (s controlSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if s.c.acquire != nil {
		return s.c.acquire(ctx, s.source, ttl)
	}
	inner, err := s.source.Acquire(ctx, ttl)
	if err != nil || s.c.session == nil {
		return inner, err
	}
	return s.c.session(inner.(*session)), nil
}

func (s controlSource) KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (bool, error) {
	if s.c.keep == nil {
		return s.source.KeepPolicies(ctx, change)
	}
	s.c.keep(s.source, change)
	return true, ctx.Err()
}

func (s controlSource) Leave(ctx context.Context) error {
	if s.c.leave != nil {
		return s.c.leave()
	}
	return s.source.Leave(ctx)
}

func (s controlSource) Share(ctx context.Context, ttl time.Duration) (driver.Share, error) {
	if s.c.alone {
		s.c.mu.Lock()
		for other := range s.sharing().members {
			if other != s.source {
				delete(s.sharing().members, other)
			}
		}
		s.c.mu.Unlock()
	}
	share, err := s.source.Share(ctx, ttl)
	if err == nil && s.c.share != nil {
		share = s.c.share(share)
	}
	return share, err
}

// controlSession is a session with some methods replaced.
type controlSession struct {
	*session

	read    func(ctx context.Context, limit int) (driver.Page, error)
	advance func(ctx context.Context, p driver.Page, n int) error
	renew   func(ctx context.Context, ttl time.Duration) error
	release func(ctx context.Context) error

	keys    func(ctx context.Context) ([]driver.Key, error)
	hold    func(ctx context.Context, p driver.Page, n int, h []driver.Holding) error
	due     func(ctx context.Context, limit int, except []string) ([]driver.Held, error)
	resolve func(ctx context.Context, v []driver.Verdict) ([]driver.Key, error)
	hasten  func() error

	name     func() string
	position func(p driver.Page, n int) ([]byte, error)
	seek     func(ctx context.Context, position []byte) error
}

func (s controlSession) SlotName() string {
	if s.name != nil {
		return s.name()
	}
	return s.session.SlotName()
}

func (s controlSession) Position(p driver.Page, n int) ([]byte, error) {
	if s.position != nil {
		return s.position(p, n)
	}
	return s.session.Position(p, n)
}

func (s controlSession) Seek(ctx context.Context, position []byte) error {
	if s.seek != nil {
		return s.seek(ctx, position)
	}
	return s.session.Seek(ctx, position)
}

func (s controlSession) HeldKeys(ctx context.Context) ([]driver.Key, error) {
	if s.keys != nil {
		return s.keys(ctx)
	}
	return s.session.HeldKeys(ctx)
}

func (s controlSession) Hold(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
	if s.hold != nil {
		return s.hold(ctx, p, n, h)
	}
	return s.session.Hold(ctx, p, n, h)
}

func (s controlSession) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	if s.due != nil {
		return s.due(ctx, limit, except)
	}
	return s.session.Due(ctx, limit, except)
}

func (s controlSession) Hasten(ctx context.Context, within time.Duration) error {
	if s.hasten != nil {
		return s.hasten()
	}
	return s.session.Hasten(ctx, within)
}

func (s controlSession) Resolve(ctx context.Context, v []driver.Verdict) ([]driver.Key, error) {
	if s.resolve != nil {
		return s.resolve(ctx, v)
	}
	return s.session.Resolve(ctx, v)
}

func (s controlSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	if s.read != nil {
		return s.read(ctx, limit)
	}
	return s.session.Read(ctx, limit)
}

func (s controlSession) Advance(ctx context.Context, p driver.Page, n int) error {
	if s.advance != nil {
		return s.advance(ctx, p, n)
	}
	return s.session.Advance(ctx, p, n)
}

func (s controlSession) Renew(ctx context.Context, ttl time.Duration) error {
	if s.renew != nil {
		return s.renew(ctx, ttl)
	}
	return s.session.Renew(ctx, ttl)
}

func (s controlSession) Release(ctx context.Context) error {
	if s.release != nil {
		return s.release(ctx)
	}
	return s.session.Release(ctx)
}

// negative is a rule that is broken, and what must come of it: by the name of a
// check, words of its complaint.
type negative struct {
	rule   string
	broken func(c *control)
	caught map[string]string
}

// patience bounds a check of a broken outbox, since some wait for what never
// comes. It is virtual time.
const patience = 30 * time.Second

func TestNegativeControls(t *testing.T) {
	t.Parallel()
	for _, n := range negatives() {
		t.Run(n.rule, func(t *testing.T) {
			t.Parallel()
			for name, complaint := range n.caught {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { n.expectCaught(t, name, complaint) })
				})
			}
		})
	}
}

func negatives() []negative {
	return slices.Concat(
		brokenReaders(), brokenPositions(), brokenCounters(), brokenGround(), brokenWriters(), brokenKeys(), brokenLeases(), brokenHolders(), brokenDelays(),
		brokenSlots(), brokenGroups(), brokenSeeks(), brokenReplays(),
	)
}

func (n negative) expectCaught(t *testing.T, name, complaint string) {
	t.Helper()
	expectCaught(t, name, complaint, broken(t, n.broken))
}

func expectCaught(t *testing.T, name, complaint string, broken outboxtest.Subject) {
	t.Helper()
	check, ok := outboxtest.Find(name)
	require.True(t, ok, "the suite has no such check")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := check.Run(ctx, outboxtest.Features{}, broken)
	require.ErrorContains(t, err, complaint)
}

// TestControlWithoutBreakage shows that what the controls share breaks nothing,
// and that outbox and relay work in virtual time.
func TestControlWithoutBreakage(t *testing.T) {
	t.Parallel()
	checks := append(outboxtest.Checks(outboxtest.Features{}), outboxtest.RelayChecks(outboxtest.Features{})...)
	for _, check := range checks {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newControl(t)
				c.session = func(s *session) driver.Session { return controlSession{session: s} }
				require.NoError(t, check.Run(t.Context(), outboxtest.Features{}, c))
			})
		})
	}
}

// TestEveryCheckHasAControl: each check of the suite has been seen to find a broken outbox.
func TestEveryCheckHasAControl(t *testing.T) {
	t.Parallel()
	controlled := map[string]bool{
		"O14_RenewWaitsForNoRead": true, // TestNegativeControls_Renewals
	}
	for _, n := range negatives() {
		for name := range n.caught {
			controlled[name] = true
		}
	}
	for _, n := range slices.Concat(brokenAdmins(), brokenRenames(), blindAdmins()) {
		for name := range n.caught {
			controlled[name] = true
		}
	}
	var without []string
	for _, check := range append(outboxtest.Checks(outboxtest.Features{}), outboxtest.RelayChecks(outboxtest.Features{})...) {
		if !controlled[check.Name] {
			without = append(without, check.Name)
		}
	}
	require.Empty(t, without, "checks that nothing has shown to find what they are for")
}
