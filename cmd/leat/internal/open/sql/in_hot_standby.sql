-- Whether a standby answers what only reads. No function that is volatile is called: splitters
-- would send the statement to the primary.
SELECT current_setting('in_hot_standby') = 'on'
