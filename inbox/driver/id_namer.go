package driver

import "context"

// IDNamer is a Store that keeps where ids come from beside those that it remembers.
type IDNamer interface {
	Store

	// NameIDs notes the name of the source of ids, unless the Store remembers ids of another
	// one. It returns the name that was noted, empty for none, and how many ids are
	// remembered: not all of them if that takes long, and -1 if it cannot tell. They are 0 if
	// the name is noted now.
	NameIDs(ctx context.Context, name string) (noted string, remembered int64, err error)
}
