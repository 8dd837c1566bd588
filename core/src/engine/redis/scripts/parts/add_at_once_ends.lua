local function finish()
  end_notes()
  if found.is_all and #found.entries == 0 then end_step.deferred = '' end
end
