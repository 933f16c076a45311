package relay

import "github.com/leat-go/leat/outbox"

// firstPage is the number of records that a term asks for before it knows how
// large they are.
const firstPage = 500

// pageLimit is the number of records to ask for, such that a page keeps to
// PageSize and, if its records are like those before, to PageBytes.
type pageLimit struct {
	records, most, bytes int
}

func newPageLimit(cfg Config) *pageLimit {
	return &pageLimit{records: min(cfg.PageSize, firstPage), most: cfg.PageSize, bytes: cfg.PageBytes}
}

// learn takes in a page. What it asks for grows at most fourfold with each, so
// that a run of small records does not at once bring the largest page of large
// ones. Beyond that it is for the Source to end a page early.
func (l *pageLimit) learn(records []outbox.Record) {
	size := 0
	for i := range records {
		size += len(records[i].Payload) + len(records[i].Key)
		for name, value := range records[i].Headers {
			size += len(name) + len(value)
		}
	}
	fit := l.bytes / max(size/len(records), 1)
	l.records = max(min(fit, 4*l.records, l.most), 1)
}
