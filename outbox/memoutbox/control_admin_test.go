package memoutbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
	"github.com/leat-go/leat/outbox/internal/trace"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// adminNegative is an answer to operators that is wrong, and what must come of it: by the
// name of a check, words of its complaint.
type adminNegative struct {
	rule   string
	broken func(c *control) outboxtest.Subject
	caught map[string]string
}

// brokenAdmins are the ways of deceiving operators.
func brokenAdmins() []adminNegative {
	return []adminNegative{
		{"stats count what waits as parked", func(c *control) outboxtest.Subject { return overcounting{c} }, map[string]string{
			"Admin_StatsCount": "want 6 held",
		}},
		{"ages are not told", func(c *control) outboxtest.Subject { return ageless{c} }, map[string]string{
			"Admin_StatsCount": "deadline exceeded",
		}},
		{"the state that is asked for is ignored", func(c *control) outboxtest.Subject { return anyState{c} }, map[string]string{
			"Admin_HeldIsSelected": "held",
		}},
		{"payloads are listed although nobody wants them", func(c *control) outboxtest.Subject { return chatty{c} }, map[string]string{
			"Admin_HeldIsSelected": "held without payloads",
		}},
		{"a key is one record", func(c *control) outboxtest.Subject { return lonelyKeys{c} }, map[string]string{
			"Admin_ParkedKeysAreListed": "parked keys",
		}},
		{"each text is a failure of its own", func(c *control) outboxtest.Subject { return ungrouped{c} }, map[string]string{
			"Admin_FailuresAreGrouped": "failures",
		}},
		{"a redriven record goes behind those of its key", func(c *control) outboxtest.Subject { return shuffling{c} }, map[string]string{
			"O6_RedriveKeepsTheOrder": "after a redrive",
		}},
		{"a key is skipped as a whole", func(c *control) outboxtest.Subject { return sweeping{c} }, map[string]string{
			"O6_SkipHeadGoesOn": "after the first was skipped",
		}},
		{"a skip drops whatever is the first", func(c *control) outboxtest.Subject { return blindSkip{c} }, map[string]string{
			"O6_SkipHeadSparesOthers": "skip of another record than the first",
		}},
		{"a dry run changes", func(c *control) outboxtest.Subject { return wetRun{c} }, map[string]string{
			"Admin_DryRunChangesNothing": "has become",
		}},
		{"a dry run promises too much", func(c *control) outboxtest.Subject { return boastful{c} }, map[string]string{
			"Admin_DryRunChangesNothing": "in the dry run",
		}},
		{"a dry run takes each record for a key", func(c *control) outboxtest.Subject { return keyed{c} }, map[string]string{
			"Admin_DryRunChangesNothing": "1 keys since",
		}},
		{"the audit has no order", func(c *control) outboxtest.Subject { return oldestFirst{c} }, map[string]string{
			"Admin_ChangesAreAudited": "the newest first",
		}},
		{"the audit forgets where a request has come from", func(c *control) outboxtest.Subject { return faceless{c} }, map[string]string{
			"Admin_AuditKeepsWhoAsked": "of who asked",
		}},
		{"any details will do", func(c *control) outboxtest.Subject { return hoarder{c} }, map[string]string{
			"Admin_AuditKeepsWhoAsked": "details with",
		}},
		{"nobody is asked for a reason", func(c *control) outboxtest.Subject { return careless{c} }, map[string]string{
			"Admin_BadRequestsAreRefused": "without a",
		}},
		{"who has left is a member", func(c *control) outboxtest.Subject { return &ghosts{control: c} }, map[string]string{
			"Admin_GroupsAreSeen": "members after the release",
		}},
		{"a group that is led is removed", func(c *control) outboxtest.Subject { return ruthless{c} }, map[string]string{
			"Admin_GroupIsRemoved": "remove of group",
		}},
		{"any lag is the greatest", func(c *control) outboxtest.Subject { return patient{c} }, map[string]string{
			"Admin_GreatestLagIsSet": "want a greatest lag",
		}},
		{"a pause is not stored", func(c *control) outboxtest.Subject { return restless{c} }, map[string]string{
			"Admin_GroupIsPaused": "are paused, want",
		}},
		{"what is cancelled stays", func(c *control) outboxtest.Subject { return uncancelled{c} }, map[string]string{
			"Admin_DelayedIsCancelled": "cancel",
		}},
		{"a search ends too soon", func(c *control) outboxtest.Subject { return shortSighted{c} }, map[string]string{
			"Admin_SearchFinds": "search",
		}},
		{"what is parked counts as sent", func(c *control) outboxtest.Subject { return optimist{c} }, map[string]string{
			"Admin_TraceTells": "trace of",
		}},
		{"a trace has all messages of an id", func(c *control) outboxtest.Subject { return exhaustive{c} }, map[string]string{
			"Admin_TraceIsBounded": "want the first 100 of 101",
		}},
		{"a trace has all that is set aside of an id", func(c *control) outboxtest.Subject { return lister{c} }, map[string]string{
			"Admin_TraceBoundsWhatIsSetAside": "101 are set aside",
		}},
		{"a trace goes by the first hundred that are set aside", func(c *control) outboxtest.Subject { return hasty{c} }, map[string]string{
			"Admin_TraceBoundsWhatIsSetAside": "{Group:default State:sent}",
		}},
	}
}

// brokenRenames are the ways of beginning anew with a group that is renamed.
func brokenRenames() []adminNegative {
	return []adminNegative{
		{"a renamed group begins anew", func(c *control) outboxtest.Subject { return anew{c} }, map[string]string{
			"O2_RenamedGroupGoesOn": "the renamed group",
		}},
		{"a renamed group forgets the policies of its relays", func(c *control) outboxtest.Subject { return unadvised{c} }, map[string]string{
			"O6_NotesOfPoliciesTakeTurns": "note of a group that was renamed",
		}},
		{"the former name of a group begins anew", func(c *control) outboxtest.Subject { return nameless{c} }, map[string]string{
			"O2_RenamedGroupGoesOn": "acquire of a group that has another name",
		}},
	}
}

// blindAdmins hide from operators what they must know.
func blindAdmins() []adminNegative {
	return []adminNegative{
		{"what is retried is redriven at its time", func(c *control) outboxtest.Subject { return punctual{c} }, map[string]string{
			"O6_RetriedIsChanged": "redriven",
		}},
		{"the age of what waits is not told", func(c *control) outboxtest.Subject { return waitless{c} }, map[string]string{
			"Admin_StatsCount": "deadline exceeded",
		}},
		{"what is out is not told", func(c *control) outboxtest.Subject { return cheerful{c} }, map[string]string{
			"Admin_OutagesAreSeen": "are out, want",
		}},
		{"a trace says that all is sent that is passed", func(c *control) outboxtest.Subject { return certain{c} }, map[string]string{
			"Admin_TraceKnowsWhereAGroupBegan": "{Group:late State:sent}",
		}},
		{"what is parked again is as old as before", func(c *control) outboxtest.Subject { return ageing{c} }, map[string]string{
			"Admin_ParkedAgainIsNew": "want later than",
		}},
		{"a stop is taken for a redrive", func(c *control) outboxtest.Subject { return unstoppable{c} }, map[string]string{
			"Admin_RedriveIsStopped": "stop of what is not tried again",
		}},
		{"nobody notices what fails again", func(c *control) outboxtest.Subject { return oblivious{c} }, map[string]string{
			"Admin_ParkedAgainIsNew": "want 1 that failed again",
		}},
		{"the beginning of a key is ignored", func(c *control) outboxtest.Subject { return anyKey{c} }, map[string]string{
			"Admin_SearchFinds": "search",
		}},
	}
}

func TestNegativeControls_Admin(t *testing.T) {
	t.Parallel()
	for _, n := range slices.Concat(brokenAdmins(), brokenRenames(), blindAdmins()) {
		for name, complaint := range n.caught {
			t.Run(n.rule+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					check, ok := outboxtest.Find(name)
					require.True(t, ok, "the suite has no such check")
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					err := check.Run(ctx, outboxtest.Features{}, n.broken(newControl(t)))
					require.ErrorContains(t, err, complaint)
				})
			})
		}
	}
}

type overcounting struct{ *control }

func (o overcounting) Stats(ctx context.Context) (admin.Stats, error) {
	s, err := o.control.Stats(ctx)
	for i := range s.Groups {
		s.Groups[i].Parked = s.Groups[i].Held - s.Groups[i].Retrying
	}
	return s, err
}

type ageless struct{ *control }

func (a ageless) Stats(ctx context.Context) (admin.Stats, error) {
	s, err := a.control.Stats(ctx)
	for i := range s.Groups {
		s.Groups[i].OldestRetried = 0
	}
	return s, err
}

type waitless struct{ *control }

func (w waitless) Stats(ctx context.Context) (admin.Stats, error) {
	s, err := w.control.Stats(ctx)
	for i := range s.Groups {
		s.Groups[i].OldestWaiting = 0
	}
	return s, err
}

type cheerful struct{ *control }

func (w cheerful) Stats(ctx context.Context) (admin.Stats, error) {
	s, err := w.control.Stats(ctx)
	for i := range s.Groups {
		s.Groups[i].Out = nil
	}
	return s, err
}

type certain struct{ *control }

func (w certain) Trace(ctx context.Context, q admin.TraceQuery) (admin.Trace, error) {
	t, err := w.control.Trace(ctx, q)
	for _, m := range t.Messages {
		for i := range m.Groups {
			if m.Groups[i].State == admin.TraceUnknown {
				m.Groups[i].State = admin.TraceSent
			}
		}
	}
	return t, err
}

type unstoppable struct{ *control }

func (u unstoppable) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	req.Stop = false
	return u.control.Redrive(ctx, req)
}

type ageing struct{ *control }

func (a ageing) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	all, err := a.control.Held(ctx, q)
	for i := range all {
		all[i].Since = all[i].CreatedAt
	}
	return all, err
}

func (a ageing) ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	all, err := a.control.ParkedKeys(ctx, q)
	for i := range all {
		all[i].Since = time.Time{}
		held, err := a.control.Held(ctx, admin.HeldQuery{Topic: all[i].Key.Topic, Key: all[i].Key.Key})
		if err == nil && len(held) > 0 {
			all[i].Since = held[0].CreatedAt
		}
	}
	return all, err
}

type oblivious struct{ *control }

func (o oblivious) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	all, err := o.control.Failures(ctx, q)
	for i := range all {
		all[i].Again = 0
	}
	return all, err
}

type anyKey struct{ *control }

func (a anyKey) Search(ctx context.Context, q admin.MessageQuery) (admin.MessagePage, error) {
	q.KeyPrefix = ""
	return a.control.Search(ctx, q)
}

type anyState struct{ *control }

func (a anyState) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	q.State = ""
	return a.control.Held(ctx, q)
}

type chatty struct{ *control }

func (c chatty) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	q.OmitPayload = false
	return c.control.Held(ctx, q)
}

type lonelyKeys struct{ *control }

func (l lonelyKeys) ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	all, err := l.control.ParkedKeys(ctx, q)
	for i := range all {
		all[i].Records = 1
	}
	return all, err
}

type ungrouped struct{ *control }

func (u ungrouped) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	all, err := u.control.Failures(ctx, q)
	if len(all) > 0 && all[0].Records > 1 {
		all[0].Records--
		all = append(all, all[0])
	}
	return all, err
}

type wetRun struct{ *control }

func (w wetRun) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	req.DryRun = false
	return w.control.SkipHead(ctx, req)
}

type shuffling struct{ *control }

func (s shuffling) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	changed, err := s.control.Redrive(ctx, req)
	if err != nil {
		return changed, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.heldOf(req.Group).Rows()
	for i := range rows {
		switch rows[i].State {
		case heldqueue.Retry:
			rows[i].Next = clock().Add(time.Hour)
		case heldqueue.Wait:
			rows[i].State, rows[i].Next = heldqueue.Retry, clock()
		case heldqueue.Parked, heldqueue.Dead:
		}
	}
	return changed, s.heldOf(req.Group).Update(ctx, rows)
}

type punctual struct{ *control }

func (p punctual) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	if retrying, err := p.Held(ctx, admin.HeldQuery{Group: req.Group, State: admin.HeldRetrying}); err != nil || len(retrying) > 0 {
		return admin.Changed{Count: 1}, err
	}
	return p.control.Redrive(ctx, req)
}

type sweeping struct{ *control }

func (s sweeping) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	return s.Drop(ctx, admin.ChangeRequest{
		By: req.By, Group: req.Group, Selection: admin.Selection{Topic: req.Key.Topic, Key: req.Key.Key},
	})
}

type blindSkip struct{ *control }

func (b blindSkip) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	req.ID = ""
	return b.control.SkipHead(ctx, req)
}

type boastful struct{ *control }

func (b boastful) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	changed, err := b.control.Drop(ctx, req)
	if req.DryRun {
		changed.Count++
	}
	return changed, err
}

type keyed struct{ *control }

func (k keyed) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	changed, err := k.control.Drop(ctx, req)
	changed.Keys = changed.Count
	return changed, err
}

type oldestFirst struct{ *control }

func (o oldestFirst) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	all, err := o.control.Audit(ctx, q)
	if q.Newest {
		slices.Reverse(all)
	}
	return all, err
}

type faceless struct{ *control }

func (f faceless) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	req.Details = nil
	return f.control.SkipHead(ctx, req)
}

type hoarder struct{ *control }

func (h hoarder) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	if admin.Complete(&req) != nil {
		req.Details = nil
	}
	return h.control.Redrive(ctx, req)
}

type careless struct{ *control }

func (c careless) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	if req.Reason == "" {
		req.Reason = "none"
	}
	return c.control.Redrive(ctx, req)
}

type ghosts struct {
	*control

	seen []admin.Member
}

func (g *ghosts) Members(ctx context.Context, group string) ([]admin.Member, error) {
	members, err := g.control.Members(ctx, group)
	if len(members) > 0 {
		g.seen = members
	} else if err == nil {
		members = g.seen
	}
	return members, err
}

type ruthless struct{ *control }

func (r ruthless) RemoveGroup(ctx context.Context, req admin.GroupRequest) (admin.Changed, error) {
	r.mu.Lock()
	for _, g := range r.slots() {
		g.held = false
	}
	r.mu.Unlock()
	return r.control.RemoveGroup(ctx, req)
}

type anew struct{ *control }

func (a anew) RenameGroup(ctx context.Context, req admin.GroupRequest) (admin.Changed, error) {
	changed, err := a.control.RenameGroup(ctx, req)
	if err == nil && !req.DryRun {
		a.mu.Lock()
		a.groups[slotName{req.Name, 0}].pos = position{}
		a.mu.Unlock()
	}
	return changed, err
}

type nameless struct{ *control }

func (n nameless) RenameGroup(ctx context.Context, req admin.GroupRequest) (admin.Changed, error) {
	changed, err := n.control.RenameGroup(ctx, req)
	n.mu.Lock()
	clear(n.former)
	n.mu.Unlock()
	return changed, err
}

type patient struct{ *control }

func (p patient) SetMaxLag(ctx context.Context, req admin.MaxLagRequest) error {
	req.MaxLag *= 2
	return p.control.SetMaxLag(ctx, req)
}

type restless struct{ *control }

func (r restless) Pause(_ context.Context, req admin.PauseRequest) error {
	return admin.Complete(&req)
}

type uncancelled struct{ *control }

func (u uncancelled) CancelDelayed(ctx context.Context, req admin.CancelRequest) (admin.Changed, error) {
	req.DryRun = true
	return u.control.CancelDelayed(ctx, req)
}

type shortSighted struct{ *control }

func (s shortSighted) Search(ctx context.Context, q admin.MessageQuery) (admin.MessagePage, error) {
	page, err := s.control.Search(ctx, q)
	if len(page.Records) == 0 {
		page.Next = 0
	}
	return page, err
}

type exhaustive struct{ *control }

func (e exhaustive) Trace(ctx context.Context, q admin.TraceQuery) (admin.Trace, error) {
	found, err := e.control.Trace(ctx, q)
	if n := len(found.Messages); n == trace.Most {
		found.Messages = append(found.Messages, found.Messages[n-1])
	}
	return found, err
}

type lister struct{ *control }

func (l lister) Trace(ctx context.Context, q admin.TraceQuery) (admin.Trace, error) {
	found, err := l.control.Trace(ctx, q)
	for _, list := range []*[]admin.HeldRecord{&found.Held, &found.Dead} {
		if n := len(*list); n == trace.Most {
			*list = append(*list, (*list)[n-1])
		}
	}
	return found, err
}

type hasty struct{ *control }

func (h hasty) Trace(ctx context.Context, q admin.TraceQuery) (admin.Trace, error) {
	found, err := h.control.Trace(ctx, q)
	found.Held, found.Dead = found.Held[:min(len(found.Held), trace.Most)], found.Dead[:min(len(found.Dead), trace.Most)]
	for i := range found.Messages {
		for j := range found.Messages[i].Groups {
			if g := &found.Messages[i].Groups[j]; g.State == admin.TraceHeld || g.State == admin.TraceDead {
				g.State = trace.Settled(&found, g.Group, found.Messages[i].Seq, false)
			}
		}
	}
	return found, err
}

type optimist struct{ *control }

func (o optimist) Trace(ctx context.Context, q admin.TraceQuery) (admin.Trace, error) {
	trace, err := o.control.Trace(ctx, q)
	for i := range trace.Messages {
		for j := range trace.Messages[i].Groups {
			trace.Messages[i].Groups[j].State = admin.TraceSent
		}
	}
	return trace, err
}

type unadvised struct{ *control }

func (f unadvised) RenameGroup(ctx context.Context, req admin.GroupRequest) (admin.Changed, error) {
	changed, err := f.control.RenameGroup(ctx, req)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.notes, req.Name)
	return changed, err
}
