-- What completed items fire, and what their completions add. `by_state`: they may be in any state, else they were leased.
local function completions_fire(numbers, names, results, added, by_state, was_leased)
  if by_state then
    fire_by_state(numbers, names, COMPLETES + ENDS, results, was_leased)
  else
    fire(numbers, names, COMPLETES + ENDS, 'l', results)
  end
  fire_added(numbers, added)
end
