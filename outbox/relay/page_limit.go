package relay

import "github.com/leat-go/leat/outbox"

// firstPage is the number of records that a term asks for before it knows their size.
const firstPage = 500

// pageLimit is the number of records to ask for. It keeps a page within PageSize and, if its
// records are as large as those before, to PageBytes. See design 4.4.
type pageLimit struct {
	records, maxRecords, maxBytes int
}

func newPageLimit(cfg *Config) pageLimit {
	return pageLimit{records: min(cfg.PageSize, firstPage), maxRecords: cfg.PageSize, maxBytes: cfg.PageBytes}
}

// learn adapts the limit to the size of a page's records. The limit grows at most fourfold with
// each page, so that a run of small records is not followed at once by the largest page of large
// records. Until the limit has adapted, the Source must end a page early.
func (l *pageLimit) learn(records []outbox.Record) {
	size := 0
	for i := range records {
		size += len(records[i].Payload) + len(records[i].Key)
		for name, value := range records[i].Headers {
			size += len(name) + len(value)
		}
	}
	fit := l.maxBytes / max(size/len(records), 1)
	l.records = max(min(fit, 4*l.records, l.maxRecords), 1)
}
