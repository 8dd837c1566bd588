local function finish()
  end_notes()
  if (plain or found.count == #notes) and #found.entries == 0 then end_step.deferred = '' end
end
