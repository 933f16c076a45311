SELECT events FROM counters WHERE repository = ?
