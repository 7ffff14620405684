"""Speed: of random playouts (`bench`, `playouts`), of the tree search (`search_speed`), of compiling the kernels
(`compile_cost`); what helpers cost and bring (`helper_cost`, `helper_gain`), and what pages that show a match do
(`watch_cost`, with a browser by `headless`). `timing` reads the CPU clock.
"""
