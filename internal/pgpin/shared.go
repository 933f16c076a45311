package pgpin

import (
	"runtime"
	"sync"
	"weak"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ByPool holds what the stores of this process that use the same pool share, for as long as one of
// them uses it. The zero value is ready.
type ByPool[T any] struct {
	mu sync.Mutex
	of map[any]weak.Pointer[T]
}

// Of returns the shared value of the pool whose weak pointer is key. create makes it if no store
// uses it yet.
func (b *ByPool[T]) Of(key any, create func() *T) *T {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := b.of[key].Value(); v != nil {
		return v
	}
	v := create()
	if b.of == nil {
		b.of = map[any]weak.Pointer[T]{}
	}
	b.of[key] = weak.Make(v)
	runtime.AddCleanup(v, b.forget, key)
	return v
}

func (b *ByPool[T]) forget(key any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[key].Value() == nil { // else there is another one by now
		delete(b.of, key)
	}
}

// rooms are of the whole process: stores that do not know of each other share a pool.
var rooms ByPool[Room] //nolint:gochecknoglobals // see above

// RoomOf returns the room of a pool.
func RoomOf(pool *pgxpool.Pool) *Room {
	return rooms.Of(weak.Make(pool), func() *Room { return &Room{} })
}

// Room bounds the additional connections that relays on one pool take, beyond those that they
// cannot do without. It has no bound until one is set.
type Room struct {
	mu      sync.Mutex
	limited bool
	most    int
	taken   int
}

// Limit sets the bound.
func (r *Room) Limit(most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limited, r.most = true, most
}

// Take reports whether there is room for one more connection, and counts it until GiveBack.
func (r *Room) Take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limited && r.taken >= r.most {
		return false
	}
	r.taken++
	return true
}

// GiveBack ends the use of a connection.
func (r *Room) GiveBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken--
}
