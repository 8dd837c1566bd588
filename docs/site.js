// Choosing a language on one tab selects it on all tabs, and on the next page.
document.addEventListener('DOMContentLoaded', () => {
  const choose = (language) => {
    for (const input of document.querySelectorAll('.tabs input')) {
      if (input.value === language) input.checked = true
    }
  }
  choose(localStorage.getItem('language'))
  document.addEventListener('change', ({ target }) => {
    if (!target.matches('.tabs input')) return
    localStorage.setItem('language', target.value)
    choose(target.value)
  })
})
