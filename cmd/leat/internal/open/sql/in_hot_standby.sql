-- Whether a standby answers read-only statements. This one calls no volatile function: a proxy
-- that splits reads from writes would send it to the primary.
SELECT current_setting('in_hot_standby') = 'on'
