-- Which of a page are still there as they were found. Another process may have deleted
-- them meanwhile, and a delivery may have one in hand that came again, or have committed it:
-- that one is not old.
SELECT id FROM @{} WHERE consumer = ? AND id IN ({list}) AND at < ? LIMIT 9223372036854775807 @{skip_locked}
