package outboxtest

import (
	"context"
	"fmt"
	"slices"

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
func (tr *trial) ten(ctx context.Context) (*reader, []driver.Page, error) {
	for _, part := range [][]string{numbered("m", 3), numbered("m", 7)[3:], numbered("m", 10)[7:]} {
		if err := tr.commit(ctx, named(part...)...); err != nil {
			return nil, nil, err
		}
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	all := numbered("m", 10)
	var pages []driver.Page
	for _, part := range [][]string{all[:4], all[4:8], all[8:]} {
		p, err := r.expectPage(ctx, 4, part...)
		if err != nil {
			return nil, nil, err
		}
		pages = append(pages, p)
	}
	return r, pages, nil
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

func (s settling) apply(ctx context.Context, r *reader, pages []driver.Page) error {
	for _, st := range s.steps {
		if err := r.settle(ctx, pages[st.page], st.n); err != nil {
			return fmt.Errorf("settled %s: %w", s.name, err)
		}
	}
	return nil
}

func releaseKeepsTheExactPosition(ctx context.Context, tr *trial) error {
	for _, s := range partial() {
		r, pages, err := tr.ten(ctx)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, r, pages); err != nil {
			return err
		}
		if r, err = tr.hand(ctx, r); err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 3, numbered("m", 10)[s.done:]...); err != nil {
			return fmt.Errorf("settled %s, then released: %w", s.name, err)
		}
		if err := r.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

// crashNeverSkips ends sessions by expiry: what was settled may be repeated
// where the subject stores positions late, but nothing else may be missing.
func crashNeverSkips(ctx context.Context, tr *trial) error {
	for _, s := range partial() {
		r, pages, err := tr.ten(ctx)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, r, pages); err != nil {
			return err
		}
		if r, err = tr.takeOver(ctx, r); err != nil {
			return err
		}
		got, err := r.drain(ctx, 3)
		if err != nil {
			return err
		}
		all := numbered("m", 10)
		resumed := len(all) - len(got)
		late := tr.features.LazyAdvance && resumed >= 0 && resumed < s.done
		if resumed != s.done && !late || !slices.Equal(names(got), all[resumed:]) {
			return fmt.Errorf("settled %s (%d records), then crashed: read %s", s.name, s.done, describe(got))
		}
		if err := r.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readIsNotSettled reads everything again and again without settling it.
func readIsNotSettled(ctx context.Context, tr *trial) error {
	r, _, err := tr.ten(ctx)
	if err != nil {
		return err
	}
	for _, next := range []func(context.Context, *reader) (*reader, error){tr.hand, tr.takeOver, tr.hand} {
		p, err := r.page(ctx, 10)
		if err != nil {
			return err
		}
		if len(p.Records) > 0 { // settled by nobody: a source may also read on only after Advance
			return fmt.Errorf("read: %s twice in one session", describe(p.Records))
		}
		if r, err = next(ctx, r); err != nil {
			return err
		}
		if _, err := r.expectPage(ctx, 10, numbered("m", 10)...); err != nil {
			return fmt.Errorf("after a session that settled nothing: %w", err)
		}
	}
	return nil
}

// emptyReadStoresThePosition loses no settled position in a crash that comes
// after a Read that found nothing.
func emptyReadStoresThePosition(ctx context.Context, tr *trial) error {
	for round := range 3 {
		if err := tr.commit(ctx, named(numbered("m", 5)...)...); err != nil {
			return err
		}
		r, err := tr.acquire(ctx)
		if err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 2, numbered("m", 5)...); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if r, err = tr.takeOver(ctx, r); err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 2); err != nil {
			return fmt.Errorf("after an empty page and a crash: %w", err)
		}
		if err := r.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

// positionNeverGoesBack has a lost session store its old position after another
// has settled more.
func positionNeverGoesBack(ctx context.Context, tr *trial) error {
	zombie, pages, err := tr.ten(ctx)
	if err != nil {
		return err
	}
	if err := zombie.settle(ctx, pages[0], 2); err != nil {
		return err
	}
	r, err := tr.takeOver(ctx, zombie)
	if err != nil {
		return err
	}
	if _, err := r.drain(ctx, 3); err != nil {
		return err
	}
	_ = zombie.Advance(ctx, pages[0], 4) // refused, or forgotten
	_, _ = zombie.Read(ctx, 4)           // where a late position would be stored
	_ = zombie.Release(ctx)
	if err := tr.commit(ctx, named("next")...); err != nil {
		return err
	}
	if r, err = tr.hand(ctx, r); err != nil {
		return err
	}
	return r.expectDrain(ctx, 3, "next")
}
