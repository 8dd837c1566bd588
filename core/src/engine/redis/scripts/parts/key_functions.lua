-- `fronts`, `raised`: fields of META, as stored.
local function key_functions(fronts, raised)
  key_step.fronts, key_step.raised = read_fronts(fronts), raised
  return first_open, priority_of, pop_above, orders_of, left_front, take_open, is_open, find_keys, hold_blocked, open_raised,
    open_in_time, next_opening
end
