package driver

import "context"

// IDNamer is a Store that also keeps the name of the source of the ids that it remembers.
type IDNamer interface {
	Store

	// NameIDs records the name of the source of ids, unless the Store remembers ids of another
	// source. It returns the name recorded before, empty for none, and the number of remembered
	// ids. The number is a lower bound if counting them all takes long, -1 if unknown, and 0 if
	// the call has recorded name.
	NameIDs(ctx context.Context, name string) (noted string, remembered int64, err error)
}
