package outboxtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/driver"
)

func positionChecks() []Check {
	return []Check{
		{Name: "O12_ReleaseKeepsTheExactPosition", run: releaseKeepsTheExactPosition},
		{Name: "O12_CrashNeverSkips", run: crashNeverSkips},
		{Name: "O12_ReadIsNotSettled", run: readIsNotSettled},
		{Name: "O12_EmptyReadStoresThePosition", run: emptyReadStoresThePosition},
		{Name: "O12_PositionNeverGoesBack", run: positionNeverGoesBack},
	}
}

// ten commits m-1 … m-10 in three transactions and reads them in pages of four.
func (tr *trial) ten(ctx context.Context) (*reader, []driver.Page) {
	for _, part := range [][]string{numbered("m", 3), numbered("m", 7)[3:], numbered("m", 10)[7:]} {
		tr.commit(ctx, named(part...)...)
	}
	r := tr.acquire(ctx)
	all := numbered("m", 10)
	var pages []driver.Page
	for _, part := range [][]string{all[:4], all[4:8], all[8:]} {
		pages = append(pages, r.expectPage(ctx, 4, part...))
	}
	return r, pages
}

// partial are ways to settle a part of ten's pages, and the number of records
// that are settled then.
func partial() []settling {
	return []settling{
		{"nothing", nil, 0},
		{"a part of the first page", []step{{0, 3}}, 3},
		{"the first page", []step{{0, 4}}, 4},
		{"the first page twice", []step{{0, 4}, {0, 4}}, 4},
		{"a page and a half", []step{{0, 4}, {1, 2}}, 6},
		{"a page in two steps", []step{{0, 1}, {0, 2}, {0, 4}, {1, 2}, {1, 3}}, 7},
		{"all but one", []step{{0, 4}, {1, 4}, {2, 1}}, 9},
		{"all", []step{{0, 4}, {1, 4}, {2, 2}}, 10},
	}
}

type step struct{ page, n int }

type settling struct {
	name  string
	steps []step
	done  int
}

func (s settling) apply(ctx context.Context, r *reader, pages []driver.Page) {
	for _, st := range s.steps {
		fail.In("settled "+s.name, func() { r.settle(ctx, pages[st.page], st.n) })
	}
}

func releaseKeepsTheExactPosition(ctx context.Context, tr *trial) {
	for _, s := range partial() {
		r, pages := tr.ten(ctx)
		s.apply(ctx, r, pages)
		r = tr.hand(ctx, r)
		fail.In("settled "+s.name+", then released", func() { r.expectDrain(ctx, 3, numbered("m", 10)[s.done:]...) })
		fail.If(r.Release(ctx))
	}
}

// crashNeverSkips ends sessions by expiry: what was settled may be repeated if the subject stores
// positions late, but nothing else may be missing.
func crashNeverSkips(ctx context.Context, tr *trial) {
	for _, s := range partial() {
		r, pages := tr.ten(ctx)
		s.apply(ctx, r, pages)
		r = tr.takeOver(ctx, r)
		got := r.drain(ctx, 3)
		all := numbered("m", 10)
		resumed := len(all) - len(got)
		late := tr.features.LazyAdvance && resumed >= 0 && resumed < s.done
		if resumed != s.done && !late || !slices.Equal(names(got), all[resumed:]) {
			fail.With("settled %s (%d records), then crashed: read %s", s.name, s.done, describe(got))
		}
		fail.If(r.Release(ctx))
	}
}

// readIsNotSettled reads everything again and again without settling it.
func readIsNotSettled(ctx context.Context, tr *trial) {
	r, _ := tr.ten(ctx)
	for _, next := range []func(context.Context, *reader) *reader{tr.hand, tr.takeOver, tr.hand} {
		p := r.page(ctx, 10)
		if len(p.Records) > 0 { // not settled: a source may also read on only after Advance
			fail.With("read: %s twice in one session", describe(p.Records))
		}
		r = next(ctx, r)
		fail.In("after a session that settled nothing", func() { r.expectPage(ctx, 10, numbered("m", 10)...) })
	}
}

// emptyReadStoresThePosition: a crash after a Read that found nothing loses no settled position.
func emptyReadStoresThePosition(ctx context.Context, tr *trial) {
	for round := range 3 {
		tr.commit(ctx, named(numbered("m", 5)...)...)
		r := tr.acquire(ctx)
		fail.In(fmt.Sprintf("round %d", round), func() { r.expectDrain(ctx, 2, numbered("m", 5)...) })
		r = tr.takeOver(ctx, r)
		fail.In("after an empty page and a crash", func() { r.expectDrain(ctx, 2) })
		fail.If(r.Release(ctx))
	}
}

// positionNeverGoesBack has a lost session store its old position after another one has settled
// more.
func positionNeverGoesBack(ctx context.Context, tr *trial) {
	zombie, pages := tr.ten(ctx)
	zombie.settle(ctx, pages[0], 2)
	r := tr.takeOver(ctx, zombie)
	r.drain(ctx, 3)
	_ = zombie.Advance(ctx, pages[0], 4) // refused, or forgotten
	_, _ = zombie.Read(ctx, 4)           // where a late position would be stored
	_ = zombie.Release(ctx)
	tr.commit(ctx, named("next")...)
	r = tr.hand(ctx, r)
	r.expectDrain(ctx, 3, "next")
}
