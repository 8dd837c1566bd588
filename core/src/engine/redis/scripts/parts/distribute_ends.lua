local function finish()
  end_notes()
  close_events()
  return what_is_left()
end
