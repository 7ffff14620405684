"""Speed of random playouts (`bench`), of tree search (`search_speed`) and of compiling kernels (`compile_cost`)."""
